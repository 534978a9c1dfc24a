#include "select/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/counted.h"
#include "select/effort.h"
#include "select/expected_time.h"
#include "select/known_times.h"
#include "select/problem_key.h"
#include "select/stages.h"

namespace tenon {
namespace {

/// Of a forecast: kernels of one tactic that compute in other types, and those of a library's other
/// engines, go at another pace.
std::string pace_name(const Problem& problem, const Option& option) {
  const std::string_view engine = engine_of(option.config);
  return fmt::format("{} {}{}{}", name_of(work_of(problem).type), option.tactic->name,
                     engine.empty() ? "" : "/", engine);
}

}  // namespace

std::vector<size_t> Schedule::announce(std::span<const Problem> problems,
                                       std::span<const Problem> beside,
                                       FunctionRef<const Shortlist&(const Problem&)> list_of) {
  std::vector<size_t> order(problems.size());
  std::iota(order.begin(), order.end(), 0);
  BuildWatch* const watch = scope_.options.watch;
  if (watch == nullptr) return order;
  for (const auto& group : {problems, beside})
    for (const Problem& problem : group) {
      if (!announced_.insert(problem_key(problem)).second) continue;
      const Shortlist& list = list_of(problem);
      candidates_ += list.fitting.size();
      if (!list.trials.empty()) announce(problem, list);
      if (list.fitting.size() < 2) tell_rivals(problem, 0, 0);
    }
  watch->note(BuildWatch::Step::kChoose,
              fmt::format("{}, {} different, {}", counted(problems.size(), "layer"),
                          announced_.size(), counted(candidates_, "candidate")));
  watch->announced();
  if (watch->has_budget() || !makes_several())
    std::ranges::stable_sort(order, std::greater(),
                             [&](size_t i) { return expected_launch(problems[i]); });
  return order;
}

/// Kernels that are made one after the other follow the pace of those ahead of them.
bool Schedule::makes_several() const {
  return scope_.backend.device->capabilities().compiles_kernels;
}

void Schedule::announce(const Problem& problem, const Shortlist& list) const {
  BuildWatch& watch = *scope_.options.watch;
  const KernelWork work = work_of(problem);
  const std::string key = problem_key(problem);
  for (const Option& option : list.fitting) {
    if (KnownTimes(scope_).find(problem, option)) continue;
    const std::string tactic(option.tactic->name);
    if (makes_several())
      watch.trials(
          [&](TrialForecast& trials, double) { trials.may_try(key, pace_name(problem, option)); });
    else
      watch.kernels([&](BuildForecast& kernels) { kernels.will_try(tactic, work); });
  }
}

void Schedule::tell_held(const Problem& problem, const Shortlist& list, size_t problems) const {
  if (!is_announced(problem)) return;
  scope_.options.watch->trials([&](TrialForecast& trials, double) {
    for (const Option& option : list.fitting) {
      const bool is_held = list.is_held(option);
      if (!list.waits)
        trials.let_go(problem_key(problem), pace_name(problem, option), !is_held, problems);
      else if (is_held)
        trials.wait(problem_key(problem), pace_name(problem, option));
    }
  });
}

void Schedule::will_make(const Problem& problem, const Option& option) const {
  if (!is_announced(problem)) return;
  scope_.options.watch->trials([&](TrialForecast& trials, double) {
    trials.will_make(problem_key(problem), pace_name(problem, option));
  });
}

void Schedule::makes(const Problem& problem, const Option& option) const {
  if (!is_announced(problem)) return;
  scope_.options.watch->trials(
      [&](TrialForecast& trials, double now) { trials.makes(pace_name(problem, option), now); });
}

void Schedule::made(const Problem& problem, const Option& option,
                    const TrialForecast::Making& seconds) const {
  if (!is_announced(problem)) return;
  scope_.options.watch->trials([&](TrialForecast& trials, double now) {
    trials.made(pace_name(problem, option), seconds, now);
  });
}

void Schedule::tries(const Problem& problem, const Option& option) const {
  if (!is_announced(problem) || makes_several()) return;
  scope_.options.watch->kernels([&](BuildForecast& kernels) {
    kernels.trying(std::string(option.tactic->name), work_of(problem));
  });
}

void Schedule::launched(const Problem& problem, double seconds, int launches) const {
  if (!is_announced(problem) || makes_several()) return;
  scope_.options.watch->kernels(
      [&](BuildForecast& kernels) { kernels.launched(seconds, launches); });
}

void Schedule::did(const Problem& problem, const Option& option,
                   const BuildForecast::TrialTimes& times) const {
  if (!is_announced(problem)) return;
  const std::string tactic(option.tactic->name);
  if (makes_several())
    scope_.options.watch->trials([&](TrialForecast& trials, double now) {
      trials.tried(problem_key(problem), pace_name(problem, option), times.all, now);
    });
  else
    scope_.options.watch->kernels(
        [&](BuildForecast& kernels) { kernels.tried(tactic, work_of(problem), times); });
}

void Schedule::tell_left_out(const Problem& problem, std::span<const Option> options,
                             std::span<const Trial> trials) const {
  if (!is_announced(problem)) return;
  if (makes_several()) {
    scope_.options.watch->trials(
        [&](TrialForecast& forecast, double) { forecast.decided(problem_key(problem)); });
    return;
  }
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].time.has_value()) continue;
    scope_.options.watch->kernels([&](BuildForecast& kernels) {
      kernels.left_out(std::string(options[i].tactic->name), work_of(problem));
    });
  }
}

void Schedule::tell_decided(const Problem& problem, const std::string& tactic) const {
  if (!is_announced(problem) || makes_several()) return;
  scope_.options.watch->kernels([&](BuildForecast& kernels) {
    kernels.decided(std::string(split_tactic(tactic).name), work_of(problem));
  });
}

void Schedule::tell_rivals(const Problem& problem, double seconds, size_t rivals) const {
  if (scope_.options.watch == nullptr) return;
  scope_.options.watch->sequence(
      [&](SequenceForecast& forecast) { forecast.chosen(problem_key(problem), seconds, rivals); });
}

bool Schedule::is_out_of_time() const {
  return scope_.options.watch != nullptr && scope_.options.watch->tuning_is_over();
}

bool Schedule::is_announced(const Problem& problem) const {
  return scope_.options.watch != nullptr && announced_.contains(problem_key(problem));
}

std::vector<size_t> Schedule::wanted(const Shortlist& list) const {
  // In the order of their places.
  std::map<std::pair<const Tactic*, std::string_view>, std::vector<size_t>> groups;
  for (size_t i = 0; i < list.fitting.size(); ++i) {
    const Option& option = list.fitting[i];
    if (list.is_held(option)) continue;
    groups[{option.tactic, engine_of(option.config)}].push_back(i);
  }
  std::vector<size_t> wanted;
  const double best = list.best();
  for (auto& [group, options] : groups) {
    const std::vector<size_t> more = wanted_of(list, std::move(options), best);
    wanted.insert(wanted.end(), more.begin(), more.end());
  }
  std::ranges::sort(wanted);
  return wanted;
}

/// Of one tactic's options.
std::vector<size_t> Schedule::wanted_of(const Shortlist& list, std::vector<size_t> options,
                                        double best) const {
  const TacticTraits& traits = list.fitting[options.front()].tactic->traits;
  std::ranges::sort(options, {}, [&](size_t i) { return list.fitting[i].place; });
  std::vector<double> tried;
  for (const size_t i : options)
    if (const auto& time = list.trials[i].time)
      tried.push_back(time->ok() ? **time : effort::kFailed);
  const bool in_stages = is_staged(traits, scope_.options.many_shapes) &&
                         scope_.options.level <= effort::kStagedLevel && !list.remembered &&
                         scope_.options.chooser == nullptr;
  const bool is_first = tried.empty() && traits.first_alone;
  const bool may_win = !traits.planned_each && traits.seldom_beside.empty();
  if (in_stages && list.end != RangeEnd::kNone && may_win)
    return wanted_at_end(list, options, tried);
  const size_t count = in_stages ? next_stage(tried, best, may_win) : is_first ? 1 : options.size();
  const size_t end = std::min(options.size(), tried.size() + count);
  return {options.begin() + static_cast<std::ptrdiff_t>(std::min(tried.size(), end)),
          options.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Of one tactic's options at the end of a range, in the order of their places.
std::vector<size_t> Schedule::wanted_at_end(const Shortlist& list, std::span<const size_t> options,
                                            std::span<const double> tried) {
  std::vector<size_t> wanted, others;
  for (const size_t i : options)
    if (!list.trials[i].time.has_value())
      (list.fitting[i].of_end_stage ? wanted : others).push_back(i);
  if (!wanted.empty()) return wanted;
  others.resize(std::min(others.size(), next_stage_at_end(tried)));
  return others;
}

}  // namespace tenon
