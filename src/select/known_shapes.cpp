#include "select/known_shapes.h"

#include <algorithm>

#include "plan/points.h"
#include "select/problem_key.h"
#include "select/stages.h"

namespace tenon {
namespace {

double size_of(const SymbolValues& symbols) {
  double size = 1;
  for (const auto& [name, value] : symbols) size *= static_cast<double>(value + 1);
  return size;
}

void add_once(std::vector<std::string>& tactics, const std::string& tactic) {
  if (std::ranges::find(tactics, tactic) == tactics.end()) tactics.push_back(tactic);
}

}  // namespace

void offer(const TacticLists& by_node, const Layers& layers, TacticLists& by_problem) {
  for (size_t i = 0; i < layers.nodes.size(); ++i)
    if (const auto found = by_node.find(layers.nodes[i]->name); found != by_node.end()) {
      std::vector<std::string>& offered = by_problem[problem_key(layers.problems[i])];
      for (const std::string& tactic : found->second) add_once(offered, tactic);
    }
}

bool is_larger(const SymbolValues& a, const SymbolValues& b) {
  return size_of(a) > size_of(b);
}

RangeEnd range_end(const SymbolValues& end, const SymbolValues& usual) {
  if (end == usual) return RangeEnd::kNone;
  return is_larger(end, usual) ? RangeEnd::kLarger : RangeEnd::kSmaller;
}

std::vector<std::string> near_of(const std::string& best, std::span<const std::string> rivals,
                                 const std::map<std::string, double>& milliseconds) {
  constexpr size_t kMost = 3;
  const auto least = milliseconds.find(best);
  const auto is_near = [&](const std::string& tactic) {
    const auto time = milliseconds.find(tactic);
    return least == milliseconds.end() || time == milliseconds.end() ||
           time->second <= kFarTactic * least->second;
  };
  std::vector<std::string> near = {best};
  for (const std::string& tactic : rivals)
    if (near.size() < kMost && is_near(tactic)) add_once(near, tactic);
  return near;
}

void KnownShapes::take(KnownShape& shape, const std::string& node, const Tactics& tactics,
                       size_t layer) {
  const std::map<std::string, double>& times = tactics.milliseconds[layer];
  shape.near[node] = near_of(tactics.best[layer], tactics.near[layer], times);
  std::set<std::string>& tried = tried_[node];
  tried.insert(tactics.best[layer]);
  for (const auto& [tactic, time] : times) tried.insert(tactic);
  if (const auto least = times.find(tactics.best[layer]); least != times.end())
    shape.milliseconds += least->second;
}

const KnownShape* KnownShapes::nearest(const SymbolValues& point, bool larger) const {
  const KnownShape* nearest = nullptr;
  for (const KnownShape& known : known_) {
    if (is_larger(known.symbols, point) != larger) continue;
    if (nearest == nullptr ||
        shape_distance(known.symbols, point) < shape_distance(nearest->symbols, point))
      nearest = &known;
  }
  return nearest;
}

double KnownShapes::milliseconds_at(const SymbolValues& point) const {
  const KnownShape *const smaller = nearest(point, false), *const larger = nearest(point, true);
  if (smaller == nullptr || larger == nullptr) {
    const KnownShape* const side = smaller == nullptr ? larger : smaller;
    return side == nullptr ? 0 : side->milliseconds;
  }
  const double before = shape_distance(smaller->symbols, point),
               behind = shape_distance(larger->symbols, point);
  const double part = before + behind > 0 ? before / (before + behind) : 0;
  return smaller->milliseconds + part * (larger->milliseconds - smaller->milliseconds);
}

std::vector<const KnownShape*> KnownShapes::sides_of(const SymbolValues& point) const {
  std::vector<const KnownShape*> sides = {nearest(point, false), nearest(point, true)};
  std::erase(sides, nullptr);
  std::ranges::stable_sort(
      sides, {}, [&](const KnownShape* known) { return shape_distance(known->symbols, point); });
  return sides;
}

TacticLists KnownShapes::around(const SymbolValues& point, size_t count) const {
  TacticLists around;
  for (const KnownShape* known : sides_of(point))
    for (const auto& [node, near] : known->near)
      for (size_t i = 0; i < std::min(near.size(), count); ++i) add_once(around[node], near[i]);
  return around;
}

std::vector<std::string> KnownShapes::around(const SymbolValues& point, const std::string& node,
                                             size_t count) const {
  std::vector<std::string> around;
  for (const KnownShape* known : sides_of(point))
    if (const auto found = known->near.find(node); found != known->near.end())
      for (size_t i = 0; i < std::min(found->second.size(), count); ++i)
        add_once(around, found->second[i]);
  return around;
}

}  // namespace tenon
