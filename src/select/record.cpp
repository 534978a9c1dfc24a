#include "select/record.h"

#include <algorithm>
#include <set>

#include "select/problem_key.h"

namespace tenon {
namespace {

/// Of one problem: the fastest that were timed, and one refusal a tactic.
constexpr size_t kMostTimed = 24;
/// Reasons why a region was taken apart.
constexpr size_t kMostReasons = 4;

std::vector<BuildRecord::Candidate> shortened(std::span<const Candidate> candidates) {
  std::vector<BuildRecord::Candidate> timed, refused;
  std::set<std::string_view> tactics;
  for (const Candidate& candidate : candidates) {
    if (candidate.reason.empty())
      timed.push_back({candidate.tactic, candidate.milliseconds, {}});
    else if (tactics.insert(split_tactic(candidate.tactic).name).second)
      refused.push_back({candidate.tactic, -1, candidate.reason});
  }
  std::ranges::stable_sort(timed, {}, &BuildRecord::Candidate::milliseconds);
  if (timed.size() > kMostTimed) timed.resize(kMostTimed);
  timed.insert(timed.end(), refused.begin(), refused.end());
  return timed;
}

/// By the most specific first: a tactic that asks for another operator says nothing about this one.
std::string reasons_of(const Backend& backend, const Problem& problem) {
  std::string text;
  std::set<std::string> said;
  for (const Tactic& tactic : backend.tactics) {
    if (said.size() >= kMostReasons) break;
    const Support support = tactic.supports(problem);
    if (support || !said.insert(support.reason).second) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", tactic.name, support.reason);
  }
  return text;
}

}  // namespace

void record_choice(const SelectOptions& options, const Node& layer, const Problem& problem,
                   std::span<const Candidate> candidates) {
  if (options.record) options.record(layer, candidates);
  if (options.notes == nullptr) return;
  BuildRecord& record = *options.notes;
  const auto [entry, is_new] =
      record.list_of.try_emplace(problem_key(problem), record.lists.size());
  if (is_new) record.lists.push_back(shortened(candidates));
  record.choices.push_back({layer.name, layer.tactic, entry->second});
}

void record_misfit(BuildRecord& record, const Node& region, const Backend& backend,
                   const Problem& problem) {
  record.apart.push_back({region.name, "", "kernels",
                          fmt::format("no kernel computes it as one, so it was taken apart ({})",
                                      reasons_of(backend, problem))});
}

}  // namespace tenon
