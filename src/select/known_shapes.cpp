#include "select/known_shapes.h"

#include <algorithm>

#include "plan/points.h"

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

bool is_larger(const SymbolValues& a, const SymbolValues& b) {
  return size_of(a) > size_of(b);
}

void KnownShapes::take(KnownShape& shape, const std::string& node, const Tactics& tactics,
                       size_t layer) {
  std::vector<std::string>& near = shape.near[node];
  add_once(near, tactics.best[layer]);
  for (const std::string& tactic : tactics.near[layer])
    if (near.size() < kMostNear) add_once(near, tactic);
  std::set<std::string>& tried = tried_[node];
  tried.insert(tactics.best[layer]);
  for (const auto& [tactic, time] : tactics.milliseconds[layer]) tried.insert(tactic);
  const auto time = tactics.milliseconds[layer].find(tactics.best[layer]);
  if (time != tactics.milliseconds[layer].end()) shape.milliseconds += time->second;
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
