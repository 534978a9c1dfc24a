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

void KnownShapes::take(KnownShape& shape, const std::string& node, const Tactics& tactics,
                       size_t layer) {
  const std::map<std::string, double>& times = tactics.milliseconds[layer];
  const auto least = times.find(tactics.best[layer]);
  const auto is_near = [&](const std::string& tactic) {
    const auto time = times.find(tactic);
    return least == times.end() || time == times.end() ||
           time->second <= kFarTactic * least->second;
  };
  std::vector<std::string>& near = shape.near[node];
  add_once(near, tactics.best[layer]);
  for (const std::string& tactic : tactics.near[layer])
    if (near.size() < kMostNear && is_near(tactic)) add_once(near, tactic);
  std::set<std::string>& tried = tried_[node];
  tried.insert(tactics.best[layer]);
  for (const auto& [tactic, time] : times) tried.insert(tactic);
  if (least != times.end()) shape.milliseconds += least->second;
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

TacticLists KnownShapes::around(const SymbolValues& point, size_t count) const {
  std::vector<const KnownShape*> sides = {nearest(point, false), nearest(point, true)};
  std::erase(sides, nullptr);
  std::ranges::stable_sort(
      sides, {}, [&](const KnownShape* known) { return shape_distance(known->symbols, point); });
  TacticLists around;
  for (const KnownShape* known : sides)
    for (const auto& [node, near] : known->near)
      for (size_t i = 0; i < std::min(near.size(), count); ++i) add_once(around[node], near[i]);
  return around;
}

}  // namespace tenon
