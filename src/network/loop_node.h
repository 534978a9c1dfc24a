#pragma once

#include <map>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::network {

class ConditionalHandle;
class LoopHandle;

/// From the network's values to those of a graph that is being finished.
using ValueMap = std::map<const Value*, Value*>;

/// Puts a loop node in the place of a loop's stand-ins; the map follows.
Status assemble_loop(Graph& graph, const LoopHandle& loop, ValueMap& map);
/// Puts an if node in the place of a conditional's stand-ins.
Status assemble_conditional(Graph& graph, const ConditionalHandle& conditional, ValueMap& map);

/// All readers of the stand-in read `value`, in the graph and through the map.
void take_place(Graph& graph, ValueMap& map, Value* stand_in, Value* value);

}  // namespace tenon::network
