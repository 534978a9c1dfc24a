#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::network {

/// The form in which an application binds a network's input or output, where it is not the
/// network's.
struct Binding {
  DataType type;
  /// Largest absolute number, from the tensor's dynamic range; 0 where none was set.
  float range = 0;
};

/// Whether a weakly typed network may bind a tensor of type `own` as `wanted`: reals as reals, or
/// as 8-bit integers with a scale, 32-bit and 64-bit integers as each other.
bool can_bind(DataType own, DataType wanted);

/// The graph's input takes the binding's type; its readers see their own behind a conversion. The
/// graph must be sorted again.
Status bind_input(Graph& graph, Value& input, const Binding& binding);
/// Likewise for an output.
Status bind_output(Graph& graph, int index, const Binding& binding);

}  // namespace tenon::network
