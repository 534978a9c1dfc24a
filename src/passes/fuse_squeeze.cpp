// An image times a gate that two 1x1 convolutions make of its means (squeeze and excitation) is one
// region. Only where the device has a kernel for it: taken apart, the convolutions would have lost
// their activations. Must run after recognize_activations and before fuse_epilogue.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Means over all pixels of an image, which stay images.
bool is_image_mean(const Node& node) {
  const auto* reduce = node.as<Reduce>();
  if (reduce == nullptr || reduce->function != ReduceFunction::kMean || !reduce->keep_dims ||
      node.has_input(1))
    return false;
  const int64_t rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  std::vector<int64_t> axes = reduce->axes;
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return rank == 4 && axes == std::vector<int64_t>{2, 3};
}

bool is_pixel_conv(const Node& node) {
  const auto* conv = node.as<Conv>();
  if (conv == nullptr || conv->groups != 1) return false;
  const Tensor* weights = node.input(1)->constant();
  return weights != nullptr && weights->rank() == 4 && weights->extents()[2] == 1 &&
         weights->extents()[3] == 1 && (!node.has_input(2) || node.input(2)->constant() != nullptr);
}

/// Functions, then a convolution, in front of `value`, which becomes their input. False where there
/// is something else.
bool take_layer(const Graph& graph, const PassContext& context, Value*& value,
                std::vector<Node*>& members) {
  while (true) {
    Node* node = value->producer();
    if (node == nullptr || only_user(graph, value) == nullptr || !context.allows_fusion(*node))
      return false;
    const bool conv = is_pixel_conv(*node);
    if (!conv && !(node->is<Pointwise>() && node->inputs().size() == 1)) return false;
    members.push_back(node);
    value = node->input(0);
    if (conv) return true;
  }
}

/// The region that ends in the product, last node first; empty where it is none.
std::vector<Node*> region_of(const Graph& graph, const PassContext& context, Node& product) {
  for (int i = 0; i < 2; ++i) {
    Value *image = product.input(i), *value = product.input(1 - i);
    if (image->type != product.output()->type || image->type.type != DataType::kFloat32) continue;
    std::vector<Node*> members = {&product};
    if (!take_layer(graph, context, value, members) || !take_layer(graph, context, value, members))
      continue;
    Node* mean = value->producer();
    if (mean == nullptr || !is_image_mean(*mean) || mean->input(0) != image ||
        only_user(graph, value) == nullptr || !context.allows_fusion(*mean))
      continue;
    members.push_back(mean);
    return members;
  }
  return {};
}

}  // namespace

bool fuse_squeeze(Graph& graph, PassContext& context) {
  if (context.options().precision.has_value()) return false;
  return join_around(
      graph, context, [](const Node& node) { return is_function(node, PointwiseFunction::k_mul); },
      [&](Node& product) {
        std::vector<Node*> members = region_of(graph, context, product);
        std::reverse(members.begin(), members.end());
        return members;
      });
}

}  // namespace tenon
