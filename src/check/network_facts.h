#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace tenon {

/// Whether a network has quantization to bytes.
bool rounds_to_bytes(const Graph& graph);
/// Whether a loop ends by its data alone: on random data it may not.
bool has_open_loop(const Graph& graph);
/// Whether shapes of its inputs vary.
bool has_open_extents(const Graph& network);
/// What rounds a plan's values, in words: "fp16 with quantization"; nothing where nothing does.
std::string name_of_rounding(std::optional<DataType> precision, bool in_tf32, const Graph& network);
/// The coarsest type among a network's values.
DataType coarsest_type(const Graph& graph);

}  // namespace tenon
