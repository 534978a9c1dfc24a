#include "select/stages.h"

#include <algorithm>
#include <cmath>

#include "kernels/backend.h"

namespace tenon {
namespace {

/// Configurations of a stage behind the first.
constexpr size_t kStage = 2;
/// How far a tactic may be from the best, and a stage from its tactic's best, to be followed by
/// another. Timing caches of four networks, searched this way, lose no winner
/// (docs/notes/performance.md).
constexpr double kFarTactic = 1.2, kFarStage = 1.12;

struct Pair {
  std::string_view slow, fast;
};
constexpr Pair kOutdone[] = {
    // Loops over single pixels: 4 times the best and more, half as much again of depthwise ones.
    {"cuda.conv.direct", "cuda.conv.hopper"},
    {"cuda.conv.direct", "cuda.conv.matrix"},
    {"cuda.conv.direct", "cuda.conv.depthwise"},
    // Products without tensor cores: 11 times and more.
    {"cuda.gemm.tile", "cuda.gemm.hopper"},
    {"cuda.gemm.tile", "cuda.gemm.skinny_columns"},
    // A row of scores at a time: 9 times.
    {"cuda.attention.rows", "cuda.attention.hopper"},
};

}  // namespace

bool is_outdone(const Tactic& tactic, const Tactic& other) {
  return std::ranges::any_of(kOutdone, [&](const Pair& pair) {
    return pair.slow == tactic.name && pair.fast == other.name;
  });
}

bool is_tried_in_stages(const Tactic& tactic) {
  constexpr std::string_view kNames[] = {"cuda.conv.hopper", "cuda.conv.matrix", "cuda.conv.cudnn"};
  return std::ranges::find(kNames, tactic.name) != std::end(kNames);
}

std::string_view engine_of(std::string_view config) {
  const size_t at = config.find("engine=");
  if (at == std::string_view::npos) return {};
  return config.substr(0, config.find(',', at));
}

size_t next_stage(std::span<const double> tried, double best) {
  if (tried.empty()) return 1;
  const double own = std::ranges::min(tried);
  if (std::isinf(own)) return kStage;
  const double last = std::ranges::min(tried.last(std::min(tried.size(), kStage)));
  return own <= best * kFarTactic && last <= own * kFarStage ? kStage : 0;
}

std::vector<std::string> configs_among(std::span<const std::string> tactics, const Tactic& tactic,
                                       const Problem& problem) {
  constexpr size_t kProposals = 2;
  std::vector<std::string> configs;
  for (const std::string& text : tactics) {
    const TacticText one = split_tactic(text);
    if (one.name == tactic.name) configs.emplace_back(one.config);
  }
  if (configs.empty() || origin_of(tactic.name) != TacticOrigin::kOwn) return configs;
  const std::vector<std::string> proposed = tactic.configs(problem);
  for (size_t i = 0; i < std::min(kProposals, proposed.size()); ++i)
    if (std::ranges::find(configs, proposed[i]) == configs.end()) configs.push_back(proposed[i]);
  return configs;
}

}  // namespace tenon
