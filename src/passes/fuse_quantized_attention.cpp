// Attention of dequantized bytes whose weights are rounded to bytes, too, becomes a region that is
// computed in 8-bit numbers: the dequantization of queries, keys and values, and the quantization
// of the result where nothing else reads it. Must run after recognize_attention and the propagation
// of quantization, before lower_precision and lower_quantize.
#include "ops/nn.h"
#include "ops/region.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

constexpr int kMaskInput = 3;
/// Sums of so many products of bytes fit 32 bits.
constexpr int64_t kMaxDepth = 65536;
constexpr int64_t kMaxWeight = 255;

bool fits_sums(const Graph& graph, const Value& value) {
  for (const Dim& dim : value.type.shape)
    if (dim.range(graph.symbol_ranges).max > kMaxDepth) return false;
  return true;
}

/// A mask that kernels add to scores: one number for all keys, or one each.
bool is_plain_mask(const Attention& op, const Value& mask, const Value& keys) {
  const DataType type = mask.type.type;
  const size_t rank = mask.type.shape.size(),
               axis = op.k_bsnh || keys.type.shape.size() == 3 ? 1 : 2;
  if (type != DataType::kBool && type != DataType::kFloat32) return false;
  return rank <= 4 && (rank == 0 || mask.type.shape.back() == Dim(1) ||
                       mask.type.shape.back() == keys.type.shape[axis]);
}

bool is_quantized_attention(const Graph& graph, const Node& node, const PassContext& context) {
  const auto* op = node.as<Attention>();
  if (op == nullptr || !context.allows_fusion(node) || node.outputs().size() != 1 ||
      op->weights_step <= 0 || op->weights_limit > kMaxWeight ||
      op->weights_type != DataType::kInt8)
    return false;
  for (int i = 0; i < kMaskInput; ++i) {
    const Node* bytes = per_tensor_bytes(node.input(i), context.options());
    if (bytes == nullptr || !is_byte_integer(quantized_type(*bytes)) ||
        bytes->input(0)->constant() != nullptr || node.input(i)->type.type != DataType::kFloat32 ||
        !fits_sums(graph, *node.input(i)))
      return false;
  }
  for (size_t i = kMaskInput + 1; i < node.inputs().size(); ++i)
    if (node.has_input(static_cast<int>(i))) return false;
  return !node.has_input(kMaskInput) || is_plain_mask(*op, *node.input(kMaskInput), *node.input(1));
}

/// The quantization that alone reads the result; null where there is none.
Node* quantization_behind(const Graph& graph, const Node& node, const PassContext& context) {
  Node* quantize = only_user(graph, node.output());
  const bool fits = quantize != nullptr && quantize->is<Quantize>() &&
                    quantize->input(0) == node.output() && is_per_tensor(*quantize) &&
                    is_byte_integer(quantized_type(*quantize)) && context.allows_fusion(*quantize);
  return fits ? quantize : nullptr;
}

}  // namespace

bool fuse_quantized_attention(Graph& graph, PassContext& context) {
  const std::vector<Node*> nodes = nodes_of(
      graph, [&](const Node& node) { return is_quantized_attention(graph, node, context); });
  for (Node* node : nodes) {
    std::vector<Node*> members;
    for (int i = 0; i < kMaskInput; ++i) {
      members.push_back(own_copy(graph, *node, i));
    }
    members.push_back(node);
    if (Node* quantize = quantization_behind(graph, *node, context)) members.push_back(quantize);
    const std::string name = node->name;
    make_region(graph, members, name);
    context.applied(name + " in 8-bit numbers");
  }
  return !nodes.empty();
}

}  // namespace tenon
