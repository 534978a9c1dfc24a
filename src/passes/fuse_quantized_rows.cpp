// Layer and RMS normalization gives what it is quantized to, beside the reals where something else
// reads them, and attention, depthwise convolutions and reductions where nothing does. Attention
// also takes the dequantization of queries, keys and values where its kernels read bytes. Must run
// after fuse_residual, whose sums come along, and after split_normalization and fuse_epilogue.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/quantized.h"
#include "passes/residual.h"

namespace tenon {
namespace {

/// The normalization that the node is, or that the region of fuse_residual ends in; null for
/// others.
const Node* normalization_of(const Node& node) {
  if (!node.is<Fused>()) return normalizes_rows(node) ? &node : nullptr;
  const auto nodes = node.bodies[0]->nodes();
  const bool is_sum = std::all_of(nodes.begin(), nodes.end() - 1, [](const auto& inner) {
    return is_function(*inner, PointwiseFunction::k_add);
  });
  return is_sum && normalizes_rows(*nodes.back()) ? nodes.back().get() : nullptr;
}

/// Which result of the node is the normalization's.
int result_of(const Node& node, const Node& normalization) {
  if (&node == &normalization) return 0;
  const auto& outputs = node.bodies[0]->outputs();
  const auto found = std::find(outputs.begin(), outputs.end(), normalization.output());
  return found == outputs.end() ? -1 : static_cast<int>(found - outputs.begin());
}

/// The one quantization with known numbers that reads the value; null where there is none.
Node* quantization_of(const Value& value, const PassContext& context) {
  Node* found = nullptr;
  for (const Use& use : value.uses()) {
    const bool fits = use.node->is<Quantize>() && use.index == 0 && is_per_tensor(*use.node) &&
                      is_multiplied(quantized_type(*use.node), context.options()) &&
                      context.allows_fusion(*use.node);
    if (!fits) continue;
    if (found != nullptr) return nullptr;
    found = use.node;
  }
  return found;
}

bool is_depthwise(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Dim channels = conv == nullptr ? Dim(0) : node.input(0)->type.shape[1];
  return conv != nullptr && channels.is_constant() && conv->groups > 1 &&
         conv->groups == channels.constant();
}

/// Whether kernels for attention read queries, keys and values as bytes: those of sums without zero
/// points, so that products are scores as they are.
bool reads_bytes(const Node& node, const PassContext& context) {
  const auto* op = node.as<Attention>();
  if (op == nullptr || !context.options().attention_of_bytes || node.outputs().size() != 1 ||
      !is_half(node.output()->type.type) || op->weights_step > 0 || !op->masked_steps.empty())
    return false;
  for (const int i : {0, 1, 2}) {
    const Node* bytes = per_tensor_bytes(node.input(i), context.options());
    if (bytes == nullptr || bytes->input(0)->constant() != nullptr ||
        (i < 2 && !is_symmetric(*bytes)) || !context.allows_fusion(*bytes))
      return false;
  }
  return true;
}

/// Operators whose kernels quantize all that they give, alone or behind scalar functions.
bool may_give_bytes(const Node& node, const PassOptions& options) {
  if (node.is<Attention>()) return true;
  if (!options.rounding_groups) return false;
  if (!node.is<Fused>()) return is_depthwise(node) || node.is<Reduce>();
  const auto nodes = node.bodies[0]->nodes();
  return is_depthwise(*nodes.front()) &&
         std::all_of(nodes.begin() + 1, nodes.end(),
                     [](const auto& inner) { return inner->template is<Pointwise>(); });
}

bool take_only_quantization(Graph& graph, PassContext& context, Node& node) {
  Node* quantize = only_user(graph, node.output());
  if (node.outputs().size() != 1) return false;
  if (quantize != nullptr && quantize != quantization_of(*node.output(), context))
    quantize = nullptr;
  std::vector<Node*> members;
  if (reads_bytes(node, context))
    for (const int i : {0, 1, 2}) members.push_back(own_copy(graph, node, i));
  if (members.empty() && quantize == nullptr) return false;
  std::string name;  // Of its operands there are names enough.
  if (!members.empty()) name = quantize == nullptr ? node.name : node.name + " + " + quantize->name;
  members.push_back(&node);
  if (node.is<Fused>()) members = inline_region(graph, &node);
  if (quantize != nullptr) members.push_back(quantize);
  return context.applied(make_region(graph, members, name)->name);
}

bool take_quantization(Graph& graph, PassContext& context, Node& node) {
  if (may_give_bytes(node, context.options())) return take_only_quantization(graph, context, node);
  const Node* normalization = normalization_of(node);
  const int result = normalization == nullptr ? -1 : result_of(node, *normalization);
  if (result < 0) return false;
  Node* quantize = quantization_of(*node.output(result), context);
  if (quantize == nullptr) return false;
  std::vector<Node*> members = {&node};
  if (node.is<Fused>()) members = inline_region(graph, &node);
  members.push_back(quantize);
  return context.applied(make_region(graph, members)->name);
}

}  // namespace

bool fuse_quantized_rows(Graph& graph, PassContext& context) {
  if (!context.options().quantized_halves) return false;
  const std::vector<Node*> nodes = fusible_nodes(graph, context, [](const Node& node) {
    return node.is<Normalization>() || node.is<Attention>() || node.is<Fused>() ||
           node.is<Conv>() || node.is<Reduce>();
  });
  return for_each_of(nodes, [&](Node& node) { return take_quantization(graph, context, node); });
}

}  // namespace tenon
