#include "select/shortlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "device/described_device.h"
#include "select/effort.h"
#include "select/fit_regions.h"
#include "select/known_times.h"
#include "select/problem_key.h"
#include "select/stages.h"

namespace tenon {
namespace {

bool is_outdone_in(const Tactic& tactic, const Shortlist& list) {
  return std::ranges::any_of(
      list.fitting, [&](const Option& option) { return is_outdone(tactic, *option.tactic); });
}

void leave_out_planned(Shortlist& list) {
  if (!list.serves_without_planned()) return;
  const auto planned =
      std::ranges::stable_partition(list.fitting, std::not_fn(&Option::is_planned));
  list.spare.insert(list.spare.end(), planned.begin(), planned.end());
  list.fitting.erase(planned.begin(), planned.end());
}

/// Whether a kernel that a family of GPUs cannot run would be a candidate on the device itself.
bool is_for_device_alone(const Tactic& tactic, const Problem& problem) {
  const DeviceProperties* const own =
      problem.device == nullptr ? nullptr : own_properties(*problem.device);
  if (own == nullptr || is_library(tactic.traits.origin)) return false;
  DescribedDevice device(*own);
  Problem here = problem;
  here.device = &device;
  return static_cast<bool>(tactic.supports(here));
}

}  // namespace

double Shortlist::best() const {
  double best = effort::kFailed;
  for (const Trial& trial : trials)
    if (trial.time && trial.time->ok()) best = std::min(best, **trial.time);
  return best;
}

bool Shortlist::serves_without_planned() const {
  return std::ranges::any_of(fitting, [](const Option& option) {
    return !option.is_planned() && !is_fallback(*option.tactic);
  });
}

bool Shortlist::is_held(const Option& option) const {
  return std::ranges::find(held, option.tactic) != held.end();
}

void Shortlist::take_made(const Shortlist& usual) {
  for (Option& option : fitting)
    option.of_end_stage |= std::ranges::any_of(usual.fitting, [&](const Option& made) {
      return made.tactic == option.tactic && made.config == option.config &&
             made.place < tried_in_any_case(made.tactic->traits);
    });
}

Shortlist Shortlister::list(const Problem& problem, RangeEnd end) const {
  const SelectOptions& options = scope_.options;
  const KnownTimes times(scope_);
  const auto known =
      options.offered.empty() ? options.offered.end() : options.offered.find(problem_key(problem));
  if (known != options.offered.end()) {
    Shortlist found = list_among(problem, known->second, options.proposals);
    if (!found.fitting.empty()) return found;
  }
  // Who chooses among candidates finds the same ones in each build.
  const bool may_know = options.use_cache && keeps_lists() && options.chooser == nullptr;
  const auto note = [&](RangeEnd where) {
    return scope_.cache.find_note(list_key(problem, where));
  };
  auto listed = may_know ? note(end) : std::nullopt;
  if (may_know && options.of_form && !listed)
    listed = scope_.cache.find_note(list_key(problem, RangeEnd::kNone, true));
  // An end's layer may be that of the usual shapes.
  if (may_know && end != RangeEnd::kNone && !listed) listed = note(RangeEnd::kNone);
  if (listed) {
    Shortlist found =
        list(problem, [&](const Tactic& tactic) { return times.configs(problem, tactic); });
    found.remembered = true;
    found.end = end;
    if (static_cast<double>(found.fitting.size()) == *listed) return found;
  }
  Shortlist all = list(problem, [&](const Tactic& tactic) { return configs_of(tactic, problem); });
  all.end = end;
  for (Option& option : all.fitting)
    option.of_end_stage = end != RangeEnd::kNone && option.place < stage_at_end(end);
  return all;
}

Shortlist Shortlister::list_among(const Problem& problem, std::span<const std::string> tactics,
                                  Proposals proposals) const {
  Shortlist found = list(problem, [&](const Tactic& tactic) {
    return configs_among(tactics, tactic, problem, proposals);
  });
  found.remembered = true;  // All of it is tried.
  found.is_brief = scope_.options.brief;
  found.is_short = true;
  return found;
}

/// Whether another tactic of the build takes the problem, and is faster where f32 is not rounded.
bool Shortlister::is_outdone_in_f32(const Tactic& tactic, const Problem& problem) const {
  const std::string_view by = tactic.traits.outdone_in_f32_by;
  if (by.empty() || problem.numerics.tf32) return false;
  return std::ranges::any_of(scope_.backend.tactics, [&](const Tactic& other) {
    return other.name == by && (!scope_.options.allowed || scope_.options.allowed(other)) &&
           fits(other, problem);
  });
}

Shortlist Shortlister::list(const Problem& problem,
                            FunctionRef<std::vector<std::string>(const Tactic&)> configs) const {
  Shortlist list;
  list.made = true;
  for (const Tactic& tactic : scope_.backend.tactics) {
    if (scope_.options.allowed && !scope_.options.allowed(tactic)) continue;
    const Support support = fits(tactic, problem);
    if (!support) {
      list.unfit.push_back({std::string(tactic.name), -1, support.reason});
      if (scope_.options.left_out && is_for_device_alone(tactic, problem))
        scope_.options.left_out(problem.layer);
    } else if ((is_fallback(tactic) && !list.fitting.empty()) || is_outdone_in(tactic, list) ||
               is_outdone_in_f32(tactic, problem)) {
      list.spare.push_back({&tactic, tactic.configs(problem).front(), 0});
    } else {
      for (size_t place = 0; std::string & config : configs(tactic))
        list.fitting.push_back({&tactic, std::move(config), place++});
    }
  }
  if (scope_.options.many_shapes) leave_out_planned(list);
  // Behind those that a level tries, but ahead of kernels that take anything.
  while (list.fitting.size() > limit()) {
    list.spare.insert(list.spare.begin(), std::move(list.fitting.back()));
    list.fitting.pop_back();
  }
  for (const Option& option : list.spare)
    list.unfit.push_back({option.text(), -1, "only where nothing else fits"});
  // In the order of the cache, so that ties end the same with it; tactics are a table's rows.
  if (scope_.backend.device->capabilities().compiles_kernels)
    std::ranges::sort(list.fitting, {},
                      [](const Option& option) { return std::tie(option.tactic, option.config); });
  if (list.fitting.size() > 1) list.trials.resize(list.fitting.size());
  return list;
}

void Shortlister::remember(const Problem& problem, const Shortlist& list) {
  const KnownTimes times(scope_);
  const auto known = [&](const Option& option) { return times.find(problem, option).has_value(); };
  if (keeps_lists() && scope_.options.offered.empty() && !list.fitting.empty() &&
      std::ranges::all_of(list.fitting, known))
    scope_.cache.insert_note(list_key(problem, list.end, list.is_short),
                             static_cast<double>(list.fitting.size()));
}

size_t Shortlister::limit() const {
  const SelectOptions& options = scope_.options;
  return options.max_candidates >= 0
             ? static_cast<size_t>(std::max(options.max_candidates, 1))
             : static_cast<size_t>(effort::kCandidates[std::clamp(options.level, 0, 5)]);
}

/// A device that is not there cannot ask its libraries.
bool Shortlister::keeps_lists() const {
  return !scope_.described && scope_.backend.device->capabilities().compiles_kernels;
}

/// Under it the cache has how many candidates there were.
std::string Shortlister::list_key(const Problem& problem, RangeEnd end, bool is_short) const {
  constexpr std::string_view kEnds[] = {"", " at a smaller end", " at a larger end"};
  return fmt::format("{}|listed {}{}{}{}{}", problem_key(problem), limit(),
                     scope_.options.level <= effort::kStagedLevel ? " in stages" : "",
                     scope_.options.many_shapes ? " for many shapes" : "",
                     kEnds[static_cast<size_t>(end)], is_short ? " by others" : "");
}

/// For a device that is not there only tactics measured on an equal one, or, where there are none,
/// tactics that can be made without it.
std::vector<std::string> Shortlister::configs_of(const Tactic& tactic,
                                                 const Problem& problem) const {
  if (!scope_.described) return tactic.configs(problem);
  std::vector<std::string> configs = KnownTimes(scope_).configs(problem, tactic);
  const std::string all = problem_key(problem) + "|";
  if (!configs.empty() || !scope_.cache.find_prefix(all).empty()) return configs;
  std::string first = tactic.configs(problem).front();
  if (scope_.options.level == 0 || create_kernel(tactic, problem, first).ok())
    configs.push_back(std::move(first));
  return configs;
}

}  // namespace tenon
