// Rounding to bytes and back (quantization whose only user is its reverse), and either of the two
// beside a scalar function, become scalar functions themselves where they follow no product: a
// quotient, rounded, clamped, times the scale. So they join groups of scalar functions, whose other
// clamps and activations they meet there. For devices that generate code for such groups, beside
// tensors of 16 bits. Must run after fuse_quantized and lower_precision (quotients need f32) and
// before fuse_epilogue.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

struct Levels {
  double scale, zero, low, high;  ///< `low` and `high` are the least and largest integer.
};

std::optional<Levels> levels_of(const Node& node) {
  if (!is_per_tensor(node) || !is_byte_integer(quantized_type(node))) return std::nullopt;
  const double scale = node.input(1)->constant()->as_double(0);
  if (!(scale > 0)) return std::nullopt;
  const bool is_signed = quantized_type(node) == DataType::kInt8;
  return Levels{scale, static_cast<double>(zero_point_of(node)), is_signed ? -128.0 : 0.0,
                is_signed ? 127.0 : 255.0};
}

class Writer {
 public:
  Writer(Graph& graph, const Node& like) : graph_(graph), like_(like) {}

  Value* apply(PointwiseFunction function, Value* x, double operand) {
    Value* number = graph_.add_constant(Tensor::scalar_f32(static_cast<float>(operand)));
    number->type = {DataType::kFloat32, {}};
    return add_pointwise(graph_, function, {x, number}, like_);
  }
  Value* cast(Value* x, DataType to) {
    if (x->type.type == to) return x;
    auto op = std::make_unique<Cast>();
    op->to = to;
    return add_op(graph_, std::move(op), {x}, like_);
  }
  /// The integer without its zero point, as a real.
  Value* rounded(Value* x, const Levels& levels) {
    Value* quotient = apply(k_div, cast(x, DataType::kFloat32), levels.scale);
    Value* whole = add_pointwise(graph_, k_round, {quotient}, like_);
    return add_pointwise(graph_, k_clip, {whole}, like_, levels.low - levels.zero,
                         levels.high - levels.zero);
  }

 private:
  Graph& graph_;
  const Node& like_;
};

/// A scalar function (or anything, for operands of one), but none that a product's epilogue takes:
/// longer epilogues leave fewer kernels to choose from, and a conversion would end them still.
bool stands_alone(const Graph& graph, const Value* value, int depth = 0) {
  constexpr int kMaxDepth = 8;
  const Node* node = value->producer();
  if (node == nullptr || only_user(graph, value) == nullptr) return depth > 0;
  if (node->is<Conv>() || node->is<Deconv>() || node->is<MatMul>() || node->is<Normalization>())
    return false;
  if (!node->is<Pointwise>() || depth > kMaxDepth) return depth > 0;
  for (const Value* input : node->inputs())
    if (!stands_alone(graph, input, depth + 1)) return false;
  return true;
}

bool joins_product(const Graph& graph, const Node& node) {
  return !std::all_of(node.inputs().begin(), node.inputs().end(),
                      [&](const Value* input) { return stands_alone(graph, input, 1); });
}

/// Quantization and the reverse behind it, which nothing but it reads.
bool lower_pair(Graph& graph, Node& dequantize) {
  if (produced_by<Quantize>(dequantize.input(0)) == nullptr) return false;
  Node& quantize = *dequantize.input(0)->producer();
  const auto levels = levels_of(quantize);
  if (!levels.has_value() || !same_scaling(quantize, dequantize) ||
      only_user(graph, quantize.output()) != &dequantize ||
      !stands_alone(graph, quantize.input(0), 1) ||
      quantize.input(0)->type.type == DataType::kInt32)
    return false;
  Writer writer(graph, quantize);
  Value* value = writer.apply(k_mul, writer.rounded(quantize.input(0), *levels), levels->scale);
  value = writer.cast(value, dequantize.output()->type.type);
  take_place(graph, dequantize.output(), value);
  return true;
}

bool lower_dequantize(Graph& graph, Node& node) {
  const auto levels = levels_of(node);
  const Node* next = only_user(graph, node.output());
  if (!levels.has_value() || next == nullptr || !next->is<Pointwise>() ||
      joins_product(graph, *next) || node.input(0)->constant() != nullptr ||
      node.output()->type.type != DataType::kFloat32)
    return false;
  Writer writer(graph, node);
  Value* value = writer.cast(node.input(0), DataType::kFloat32);
  if (levels->zero != 0) value = writer.apply(k_sub, value, levels->zero);
  take_place(graph, node.output(), writer.apply(k_mul, value, levels->scale));
  return true;
}

bool lower_quantize_alone(Graph& graph, Node& node) {
  const auto levels = levels_of(node);
  if (!levels.has_value() || !stands_alone(graph, node.input(0)) ||
      node.input(0)->type.type == DataType::kInt32)
    return false;
  Writer writer(graph, node);
  Value* value = writer.rounded(node.input(0), *levels);
  if (levels->zero != 0) value = writer.apply(k_add, value, levels->zero);
  take_place(graph, node.output(), writer.cast(value, node.output()->type.type));
  return true;
}

}  // namespace

bool lower_quantize(Graph& graph, PassContext& context) {
  // Elsewhere quantization is a member of groups as it is (fuse_pointwise).
  if (!context.options().bytes_in_groups || !context.options().quantized_halves) return false;
  const auto reported = [&](const Node& node) {
    return context.applied(node.name + " is computed together with its neighbours");
  };
  const bool paired = for_each_fusible(graph, context, [&](Node& node) {
    return node.is<Dequantize>() && lower_pair(graph, node) && reported(node);
  });
  graph.remove_dead();
  const bool lowered = for_each_fusible(graph, context, [&](Node& node) {
    return ((node.is<Dequantize>() && lower_dequantize(graph, node)) ||
            (node.is<Quantize>() && lower_quantize_alone(graph, node))) &&
           reported(node);
  });
  return paired || lowered;
}

}  // namespace tenon
