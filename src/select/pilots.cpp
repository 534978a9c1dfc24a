#include "select/pilots.h"

#include <algorithm>

#include "ops/operation_text.h"
#include "select/expected_time.h"

namespace tenon {
namespace {

/// Whether kernels that are planned for each problem are candidates beside others.
bool has_a_choice(const Shortlist& list) {
  return !list.remembered && std::ranges::any_of(list.fitting, &Option::is_planned) &&
         list.serves_without_planned();
}

}  // namespace

Pilots::Pilots(Open open) : open_(open) {
  std::map<std::string, std::vector<size_t>> kinds;
  for (size_t i = 0; i < open.size(); ++i) {
    if (!has_a_choice(*open[i].second)) continue;
    std::string kind;
    add_operation_text(kind, open[i].first->operation);
    kinds[kind].push_back(i);
  }
  for (auto& [kind, problems] : kinds) {
    const auto pilot = std::ranges::max_element(
        problems, {}, [&](size_t i) { return expected_launch(*open[i].first); });
    const size_t number = *pilot;
    problems.erase(pilot);
    for (const size_t i : problems) open[i].second->planned = Shortlist::Planned::kWait;
    waiting_[number] = std::move(problems);
  }
}

std::vector<size_t> Pilots::decided(size_t problem, bool library_won) {
  const auto found = waiting_.find(problem);
  if (found == waiting_.end()) return {};
  std::vector<size_t> problems = std::move(found->second);
  waiting_.erase(found);
  using Planned = Shortlist::Planned;
  for (const size_t i : problems)
    open_[i].second->planned = library_won ? Planned::kTry : Planned::kSkip;
  return problems;
}

}  // namespace tenon
