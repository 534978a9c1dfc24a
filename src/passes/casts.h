#pragma once

#include "ir/graph.h"

namespace tenon {

/// The value in another type, by a new node that has its producer's origins.
Value* add_cast(Graph& graph, Value* value, DataType type);

}  // namespace tenon
