#pragma once

#include "ir/graph.h"

namespace tenon {

/// 16-bit reals.
bool is_half(DataType type);

/// The Cast of a 16-bit tensor to f32 that gives `value`, else null.
Node* widening(const Value* value);

/// The value in another type, by a new node that has its producer's origins.
Value* add_cast(Graph& graph, Value* value, DataType type);

}  // namespace tenon
