// A 1x1 convolution that widens an image and the depthwise convolution behind it are one region
// (inverted residual blocks). Only where the device has a kernel for it. Must run after
// recognize_activations and before fuse_epilogue.

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/depthwise.h"

namespace tenon {
namespace {

bool is_expansion(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Tensor* weights = conv == nullptr ? nullptr : image_weights(node);
  return weights != nullptr && conv->groups == 1 && weights->extents()[2] == 1 &&
         weights->extents()[3] == 1 && weights->extents()[0] > weights->extents()[1] &&
         all_are(conv->strides, 1) && all_are(conv->pads_begin, 0) && all_are(conv->pads_end, 0);
}

std::vector<Node*> region_of(const Graph& graph, const PassContext& context, Node& expansion) {
  std::vector<Node*> members = {&expansion};
  const Value* value = expansion.output();
  take_functions(graph, context, value, members);
  return take_depthwise(graph, context, value, members) ? members : std::vector<Node*>{};
}

}  // namespace

bool fuse_expansion(Graph& graph, PassContext& context) {
  return join_around(graph, context, is_expansion,
                     [&](Node& node) { return region_of(graph, context, node); });
}

}  // namespace tenon
