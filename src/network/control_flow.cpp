#include "network/control_flow.h"

#include <algorithm>

#include "network/conditional.h"
#include "network/loop.h"
#include "network/loop_node.h"
#include "network/region.h"
#include "network/tensor.h"

namespace tenon::network {
namespace {

/// One loop or conditional, and the stand-ins that others may wait for.
struct Region {
  const LoopHandle* loop = nullptr;
  const ConditionalHandle* conditional = nullptr;
  std::vector<Value*> exits;      ///< Values inside that leave it.
  std::vector<Value*> stand_ins;  ///< Their values outside.
};

Value* mapped(const ValueMap& map, const TensorHandle* handle) {
  const auto found = map.find(handle->value());
  return found == map.end() ? nullptr : found->second;
}

Region region_of(const LoopHandle& loop, const ValueMap& map) {
  Region region;
  region.loop = &loop;
  for (const auto* recurrence : loop.recurrences)
    if (recurrence->operand_count() > 1)
      region.exits.push_back(mapped(map, recurrence->operands()[1]));
  if (loop.condition != nullptr) region.exits.push_back(mapped(map, loop.condition->operands()[0]));
  for (const auto* output : loop.outputs) {
    region.exits.push_back(mapped(map, output->operands()[0]));
    region.stand_ins.push_back(mapped(map, output->results()[0]));
  }
  return region;
}

Region region_of(const ConditionalHandle& conditional, const ValueMap& map) {
  Region region;
  region.conditional = &conditional;
  for (const auto* output : conditional.outputs) {
    for (const auto* operand : output->operands()) region.exits.push_back(mapped(map, operand));
    region.stand_ins.push_back(mapped(map, output->results()[0]));
  }
  return region;
}

/// Whether an output of the region depends on an output of another one.
bool waits(const Region& region, const std::set<const Value*>& others) {
  std::set<const Value*> seen;
  std::vector<const Value*> work(region.exits.begin(), region.exits.end());
  while (!work.empty()) {
    const Value* value = work.back();
    work.pop_back();
    if (value == nullptr || !seen.insert(value).second) continue;
    if (others.count(value) != 0) return true;
    if (value->producer() == nullptr) continue;
    work.insert(work.end(), value->producer()->inputs().begin(), value->producer()->inputs().end());
  }
  return false;
}

Status assemble_region(Graph& graph, const Region& region, ValueMap& map) {
  if (region.loop != nullptr) return assemble_loop(graph, *region.loop, map);
  return assemble_conditional(graph, *region.conditional, map);
}

/// The remaining stand-ins have no readers, or something inside is read from outside.
Status drop_stand_ins(Graph& graph, const std::set<const Value*>& staying) {
  graph.remove_dead();
  for (int i = static_cast<int>(graph.inputs().size()) - 1; i >= 0; --i) {
    const Value* value = graph.inputs()[static_cast<size_t>(i)];
    if (staying.count(value) != 0) continue;
    if (!value->uses().empty() || graph.is_output(value))
      return user_error("'{}' is of the inside of a loop or conditional and is read outside of it",
                        value->name);
    graph.erase_input(i);
  }
  return {};
}

}  // namespace

ControlFlow::ControlFlow() = default;
ControlFlow::~ControlFlow() = default;

Status ControlFlow::assemble(Graph& graph, std::span<const std::pair<const Value*, Value*>> mapping,
                             std::span<TensorHandle* const> inputs) const {
  if (loops.empty() && conditionals.empty()) return {};
  ValueMap map(mapping.begin(), mapping.end());
  std::vector<Region> waiting;
  for (const auto& loop : loops) waiting.push_back(region_of(*loop, map));
  for (const auto& conditional : conditionals) waiting.push_back(region_of(*conditional, map));
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const Region& region) {
      std::set<const Value*> others;
      for (const Region& other : waiting)
        if (&other != &region) others.insert(other.stand_ins.begin(), other.stand_ins.end());
      return !waits(region, others);
    });
    if (ready == waiting.end())
      return user_error("loops or conditionals of the network depend on each other in a circle");
    const Region region = *ready;
    waiting.erase(ready);
    TENON_TRY(assemble_region(graph, region, map));
    TENON_TRY(graph.sort());
    // The stand-ins' place was taken; exits of others may have been among them.
    for (Region& other : waiting)
      other =
          other.loop != nullptr ? region_of(*other.loop, map) : region_of(*other.conditional, map);
  }
  std::set<const Value*> staying;
  for (const TensorHandle* input : inputs) staying.insert(mapped(map, input));
  return drop_stand_ins(graph, staying);
}

}  // namespace tenon::network
