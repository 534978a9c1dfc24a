#include "select/pilots.h"

#include <algorithm>

#include "ops/operation_text.h"
#include "select/expected_time.h"

namespace tenon {
namespace {

/// Tactics of the list that wait for a pilot.
std::vector<const Tactic*> held_of(const Shortlist& list) {
  std::vector<const Tactic*> held;
  if (list.remembered || !list.serves_without_planned()) return held;
  const auto is_there = [&](std::string_view tactic) {
    return std::ranges::any_of(list.fitting,
                               [&](const Option& option) { return option.tactic->name == tactic; });
  };
  for (const Option& option : list.fitting)
    if ((option.is_planned() || is_there(option.tactic->traits.seldom_beside)) &&
        (held.empty() || held.back() != option.tactic))
      held.push_back(option.tactic);
  return held;
}

/// Problems of a kind differ in their extents alone.
std::string kind_of(const Problem& problem) {
  std::string kind;
  add_operation_text(kind, problem.operation);
  return kind;
}

}  // namespace

Pilots::Pilots(Open open) : open_(open) {
  std::map<std::string, std::vector<size_t>> kinds;
  for (size_t i = 0; i < open.size(); ++i)
    if (!held_of(*open[i].second).empty()) kinds[kind_of(*open[i].first)].push_back(i);
  for (auto& [kind, problems] : kinds) {
    const auto pilot = std::ranges::max_element(
        problems, {}, [&](size_t i) { return expected_launch(*open[i].first); });
    const size_t number = *pilot;
    problems.erase(pilot);
    for (const size_t i : problems) {
      open[i].second->held = held_of(*open[i].second);
      open[i].second->waits = true;
    }
    waiting_[number] = std::move(problems);
  }
}

std::vector<size_t> Pilots::decided(size_t problem, const Tactic* winner) {
  const auto found = waiting_.find(problem);
  if (found == waiting_.end()) return {};
  std::vector<size_t> problems = std::move(found->second);
  waiting_.erase(found);
  for (const size_t i : problems) {
    Shortlist& list = *open_[i].second;
    list.waits = false;
    std::erase_if(list.held,
                  [&](const Tactic* tactic) { return winner == nullptr || tactic == winner; });
  }
  return problems;
}

}  // namespace tenon
