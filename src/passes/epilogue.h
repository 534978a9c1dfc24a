#pragma once

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {

/// The anchor and the chain of pointwise operators behind it that become one region: fuse_epilogue.
std::vector<Node*> with_epilogue(const Graph& graph, Node& anchor, const PassContext& context);

}  // namespace tenon
