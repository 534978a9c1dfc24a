#pragma once

#include "ir/graph.h"

namespace tenon {

/// The Cast of a 16-bit tensor to f32 that gives `value`, else null.
Node* widening(const Value* value);

/// Operands that keep their type whatever type the node computes in: scales of a resize, regions,
/// of quantized weights.
bool keeps_operand(const Node& node, int index);

/// The value in another type, by a new node that has its producer's origins.
Value* add_cast(Graph& graph, Value* value, DataType type);

}  // namespace tenon
