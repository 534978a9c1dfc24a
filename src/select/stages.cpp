#include "select/stages.h"

#include <algorithm>
#include <cmath>

#include "kernels/backend.h"

namespace tenon {
namespace {

/// Configurations of a stage behind the first.
constexpr size_t kStage = 2;

}  // namespace

bool is_staged(const TacticTraits& traits, bool many_shapes) {
  return traits.staged || (many_shapes && traits.staged_in_ranges);
}

bool is_outdone(const Tactic& tactic, const Tactic& other) {
  return std::ranges::find(tactic.traits.outdone_by, other.name) != tactic.traits.outdone_by.end();
}

std::string_view engine_of(std::string_view config) {
  const size_t at = config.find("engine=");
  if (at == std::string_view::npos) return {};
  return config.substr(0, config.find(',', at));
}

size_t next_stage(std::span<const double> tried, double best, bool may_win) {
  if (tried.empty()) return may_win ? kFirstStage : 1;
  const double own = std::ranges::min(tried);
  if (std::isinf(own)) return kStage;
  const double last = std::ranges::min(tried.last(std::min(tried.size(), kStage)));
  return own <= best * kFarTactic && last <= own * kFarStage ? kStage : 0;
}

size_t stage_at_end(RangeEnd end) {
  return end == RangeEnd::kSmaller ? 3 : 2;
}

size_t tried_in_any_case(const TacticTraits& traits) {
  return is_staged(traits, true) ? kFirstStage : SIZE_MAX;
}

size_t next_stage_at_end(std::span<const double> tried) {
  return tried.empty() || std::isinf(std::ranges::min(tried)) ? kStage : 0;
}

std::vector<std::string> configs_among(std::span<const std::string> tactics, const Tactic& tactic,
                                       const Problem& problem, Proposals proposals) {
  std::vector<std::string> configs;
  for (const std::string& text : tactics) {
    const TacticText one = split_tactic(text);
    if (one.name == tactic.name) configs.emplace_back(one.config);
  }
  const bool of_library = is_library(tactic.traits.origin);
  if (of_library ? tactic.traits.planned_each : configs.empty()) return configs;
  const bool is_first = !of_library && split_tactic(tactics.front()).name == tactic.name;
  // A tactic that seldom wins beside another one proposes more only where it did.
  const bool proposes = is_first || tactic.traits.seldom_beside.empty();
  if (proposals.most == 0 || !(proposals.of_first_alone ? is_first : proposes)) return configs;
  const std::vector<std::string> own = tactic.configs(problem);
  const bool agrees = !own.empty() && std::ranges::find(configs, own[0]) != configs.end();
  if (proposals.unless_there && agrees) return configs;
  for (size_t i = 0; i < std::min(proposals.most, own.size()); ++i)
    if (std::ranges::find(configs, own[i]) == configs.end()) configs.push_back(own[i]);
  return configs;
}

}  // namespace tenon
