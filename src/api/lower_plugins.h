#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "passes/pass.h"

namespace tenon::api {

/// Where layers may compute in 16 bits, gives the plugins that take all their FP32 operands in that
/// type such operands, behind casts, so that they are not cast back and forth between such layers.
Status lower_plugins(Graph& graph, const PassOptions& passes);

/// The operands that a plugin reads; those behind only give shapes.
size_t read_count(const Node& node);

/// Whatever reads `value` but `first`, which begins to convert it, reads the converted one, which
/// has the name of an output.
void read_converted(Graph& graph, Value& value, Node& first, Value& converted);

}  // namespace tenon::api
