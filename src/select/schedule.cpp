#include "select/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "select/effort.h"
#include "select/expected_time.h"
#include "select/known_times.h"
#include "select/problem_key.h"
#include "select/stages.h"

namespace tenon {

std::vector<size_t> Schedule::announce(const std::vector<Problem>& problems,
                                       FunctionRef<const Shortlist&(const Problem&)> list_of) {
  std::vector<size_t> order(problems.size());
  std::iota(order.begin(), order.end(), 0);
  BuildWatch* const watch = scope_.options.watch;
  if (watch == nullptr) return order;
  for (const Problem& problem : problems) {
    if (!announced_.insert(problem_key(problem)).second) continue;
    const Shortlist& list = list_of(problem);
    candidates_ += list.fitting.size();
    for (const Option& option : list.fitting)
      if (!list.trials.empty())
        watch->expect(BuildWatch::Step::kChoose, kind_of(option), trial_seconds(problem, option));
  }
  watch->note(BuildWatch::Step::kChoose,
              fmt::format("{} layers, {} different ones, {} candidates", problems.size(),
                          announced_.size(), candidates_));
  if (watch->has_budget())
    std::ranges::stable_sort(order, std::greater(),
                             [&](size_t i) { return expected_launch(problems[i]); });
  return order;
}

void Schedule::did(const Problem& problem, const Option& option, double expected,
                   double seconds) const {
  if (is_announced(problem))
    scope_.options.watch->did(BuildWatch::Step::kChoose, kind_of(option), expected, seconds);
}

void Schedule::tell_left_out(const Problem& problem, std::span<const Option> options,
                             std::span<const Trial> trials) const {
  if (!is_announced(problem)) return;
  for (size_t i = 0; i < trials.size(); ++i)
    if (!trials[i].time.has_value())
      scope_.options.watch->expect(BuildWatch::Step::kChoose, kind_of(options[i]),
                                   -trial_seconds(problem, options[i]));
}

double Schedule::trial_seconds(const Problem& problem, const Option& option) const {
  constexpr double kMake = 0.002, kCompile = 0.05, kLaunches = 20;
  if (scope_.options.watch == nullptr || KnownTimes(scope_).find(problem, option)) return 0;
  const double launch = expected_launch(problem);
  if (scope_.backend.device->capabilities().compiles_kernels) return kCompile + kLaunches * launch;
  const int runs = effort::runs_for(launch * 1e3, scope_.options.average_runs);
  return kMake + 2 * launch + static_cast<double>(runs) * launch;
}

bool Schedule::is_out_of_time() const {
  return scope_.options.watch != nullptr && scope_.options.watch->tuning_is_over();
}

bool Schedule::is_announced(const Problem& problem) const {
  return scope_.options.watch != nullptr && announced_.contains(problem_key(problem));
}

/// Kernels that are made several at a time have no time of their own each.
std::string Schedule::kind_of(const Option& option) const {
  return std::string(scope_.backend.device->capabilities().compiles_kernels ? ""
                                                                            : option.tactic->name);
}

std::vector<size_t> Schedule::wanted(const Shortlist& list) const {
  // In the order of their places.
  std::map<std::pair<const Tactic*, std::string_view>, std::vector<size_t>> groups;
  for (size_t i = 0; i < list.fitting.size(); ++i) {
    const Option& option = list.fitting[i];
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
  const bool in_stages =
      traits.staged && scope_.options.level <= effort::kStagedLevel && !list.remembered;
  const bool is_first = tried.empty() && traits.first_alone;
  const size_t count = in_stages ? next_stage(tried, best) : is_first ? 1 : options.size();
  const size_t end = std::min(options.size(), tried.size() + count);
  return {options.begin() + static_cast<std::ptrdiff_t>(std::min(tried.size(), end)),
          options.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace tenon
