#pragma once

#include "ir/graph.h"

namespace tenon {

/// Whether a network has quantization to bytes.
bool rounds_to_bytes(const Graph& graph);
/// Whether a loop ends by its data alone: on random data it may not.
bool has_open_loop(const Graph& graph);
/// The coarsest type among a network's values.
DataType coarsest_type(const Graph& graph);

}  // namespace tenon
