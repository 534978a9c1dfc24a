#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::importer {

/// Element types in the operators of ONNX, as exported models need them.

/// The first opset in which the operator takes numbers of type bf16, where that is later than the
/// opset that models usually have; else 0.
int64_t opset_for_brain(std::string_view type);

/// The first opset that has the element type, where that is later than usual; else 0.
int64_t opset_of(DataType type);

/// ONNX moves floats of 8 bits and numbers of 4 by few operators (Transpose and Reshape, not
/// Concat, Slice or Gather). Nodes that become others get casts around them, to a type that holds
/// the same numbers. Returns whether there were such nodes.
Result<bool> cast_around_moves(Graph& graph);

}  // namespace tenon::importer
