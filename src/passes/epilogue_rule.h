#pragma once

#include <string>

#include "passes/pass.h"

namespace tenon {

/// Convolution, matmul and normalization: operators whose kernels take the scalar functions behind
/// them along (fuse_epilogue).
bool takes_epilogue(const Node& node);

/// Why `next` cannot be computed by the kernel of `anchor`, whose last step so far gives `running`;
/// empty where it can. Whether others read `running` is not asked here.
std::string epilogue_refusal(const Graph& graph, const Node& anchor, const Value& running,
                             const Node& next, const PassContext& context);

/// The cast behind a product whose result leaves the network in f32, or null.
Node* widening_step(const Graph& graph, const Value* running, const PassContext& context);

}  // namespace tenon
