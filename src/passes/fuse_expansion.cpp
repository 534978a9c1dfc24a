// A 1x1 convolution that widens an image and the depthwise convolution behind it are one region
// (inverted residual blocks). Only where the device has a kernel for it. Must run after
// recognize_activations and before fuse_epilogue.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](int64_t x) { return x == wanted; });
}

/// The constant weights of an image convolution in f32 whose bias is constant too, or null.
const Tensor* image_weights(const Node& node) {
  const Tensor* weights = node.input(1)->constant();
  const bool fits = weights != nullptr && weights->rank() == 4 &&
                    node.output()->type.type == DataType::kFloat32 &&
                    (!node.has_input(2) || node.input(2)->constant() != nullptr);
  return fits ? weights : nullptr;
}

bool is_expansion(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Tensor* weights = conv == nullptr ? nullptr : image_weights(node);
  return weights != nullptr && conv->groups == 1 && weights->extents()[2] == 1 &&
         weights->extents()[3] == 1 && weights->extents()[0] > weights->extents()[1] &&
         all_are(conv->strides, 1) && all_are(conv->pads_begin, 0) && all_are(conv->pads_end, 0);
}

bool is_depthwise(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Tensor* weights = conv == nullptr ? nullptr : image_weights(node);
  return weights != nullptr && conv->groups > 1 && weights->extents()[0] == conv->groups &&
         weights->extents()[1] == 1;
}

/// Adds the functions of one operand that follow `value`, which becomes the last one's output.
void take_functions(const Graph& graph, const PassContext& context, const Value*& value,
                    std::vector<Node*>& members) {
  while (Node* next = only_user(graph, value)) {
    if (!next->is<Pointwise>() || next->inputs().size() != 1 || !context.allows_fusion(*next))
      return;
    members.push_back(next);
    value = next->output();
  }
}

/// A sum behind the region would be a step of its own, but part of a depthwise convolution alone.
bool ends_in_operands(const Graph& graph, const Value* value) {
  const Node* user = only_user(graph, value);
  return user != nullptr && user->is<Pointwise>() &&
         user->output()->type.shape == value->type.shape;
}

std::vector<Node*> region_of(const Graph& graph, const PassContext& context, Node& expansion) {
  std::vector<Node*> members = {&expansion};
  const Value* value = expansion.output();
  take_functions(graph, context, value, members);
  Node* next = only_user(graph, value);
  if (next == nullptr || !is_depthwise(*next) || next->input(0) != value ||
      !context.allows_fusion(*next))
    return {};
  members.push_back(next);
  value = next->output();
  take_functions(graph, context, value, members);
  return ends_in_operands(graph, value) ? std::vector<Node*>{} : members;
}

}  // namespace

bool fuse_expansion(Graph& graph, PassContext& context) {
  if (!context.options().expansion_regions) return false;
  const std::vector<Node*> expansions = nodes_of(
      graph, [&](const Node& node) { return is_expansion(node) && context.allows_fusion(node); });
  bool changed = false;
  for (Node* expansion : expansions) {
    const std::vector<Node*> members = region_of(graph, context, *expansion);
    if (members.empty()) continue;
    context.applied(make_region(graph, members)->name);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
