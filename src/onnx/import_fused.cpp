// Operators of the domain com.microsoft that are several of ONNX's: as ONNX Runtime's optimizer
// fuses them.
#include "onnx/import_fused.h"

#include "onnx/import_positions.h"
#include "onnx/import_window.h"
#include "onnx/op_table.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

/// The activation behind an operator; its numbers are one list, or attributes of their own.
Value* activated(NodeImporter& n, Value* x) {
  const std::string name = n.text("activation", "");
  const std::vector<double> list = n.real_list("activation_params");
  const auto number = [&](size_t i, std::string_view attribute, double otherwise) {
    return i < list.size() ? list[i] : n.real_attribute(attribute, otherwise);
  };
  if (name.empty()) return x;
  if (name == "Relu") return n.pointwise(F::k_relu, {x});
  if (name == "Sigmoid") return n.pointwise(F::k_sigmoid, {x});
  if (name == "Tanh") return n.pointwise(F::k_tanh, {x});
  if (name == "LeakyRelu")
    return n.pointwise(F::k_leaky_relu, {x}, number(0, "activation_alpha", 0.01F));
  if (name == "HardSigmoid")
    return n.pointwise(F::k_hard_sigmoid, {x}, number(0, "activation_alpha", 0.2F),
                       number(1, "activation_beta", 0.5));
  if (name == "Clip" && list.size() == 2)
    return n.min(n.max(x, n.number(list[0], n.type(x))), n.number(list[1], n.type(x)));
  n.fail(ImportCode::kUnsupportedNodeAttr, fmt::format("activation \"{}\" is not supported", name));
  return nullptr;
}

/// Sum of those operands that are there.
Value* sum_of(NodeImporter& n, std::initializer_list<Value*> values) {
  Value* sum = nullptr;
  for (Value* value : values)
    if (value != nullptr) sum = sum == nullptr ? value : n.add(sum, value);
  return sum;
}

Value* normalized(NodeImporter& n, NormKind kind, Value* x, Value* scale, Value* bias) {
  Normalization op;
  op.norm = kind;
  op.epsilon = n.real_attribute("epsilon", 1e-12F);
  if (kind == NormKind::kRms) return n.add(op, {x, scale});
  return n.add(op, {x, scale, bias});
}

}  // namespace

/// BiasGelu and FastGelu.
void import_bias_gelu(NodeImporter& n, const OpRow&) {
  Value* x = sum_of(n, {n.input(0), n.input(1)});
  n.output(n.pointwise(n.op_type() == "FastGelu" ? F::k_gelu_tanh : F::k_gelu_erf, {x}));
}

void import_quick_gelu(NodeImporter& n, const OpRow&) {
  n.output(n.pointwise(F::k_swish, {n.input(0)}, n.real_attribute("alpha", 1.702F)));
}

void import_fused_conv(NodeImporter& n, const OpRow&) {
  Value* y = n.add(convolution(n), {n.input(0), n.input(1), n.input(2)});
  n.output(activated(n, sum_of(n, {y, n.input(3)})));
}

void import_fused_gemm(NodeImporter& n, const OpRow&) {
  n.output(activated(n, gemm(n)));
}

void import_skip_layer_normalization(NodeImporter& n, const OpRow&) {
  const bool simple = n.op_type() == "SkipSimplifiedLayerNormalization";
  if (n.wants(1) || n.wants(2))
    return n.fail(ImportCode::kUnsupportedNode, "mean and deviation are not given as outputs");
  Value* sum = sum_of(n, {n.input(0), n.input(1), n.input(simple ? 3 : 4)});
  n.output(0, normalized(n, simple ? NormKind::kRms : NormKind::kLayer, sum, n.input(2),
                         simple ? nullptr : n.input(3)));
  if (n.wants(3)) n.output(3, sum);
}

namespace {

/// Operands of an embedding beside its tables.
struct Embedding {
  NodeImporter& n;
  Value *ids, *segments, *positions, *mask;

  /// Outputs 0, 1 (how many words the mask counts) and 2 (the sum).
  void give(std::initializer_list<Value*> rows, Value* scale, Value* bias) const {
    Value* sum = sum_of(n, rows);
    n.output(0, normalized(n, NormKind::kLayer, sum, scale, bias));
    if (n.wants(2)) n.output(2, sum);
    if (!n.wants(1)) return;
    Value* counts = n.reduce(ReduceFunction::kSum, mask != nullptr ? mask : ids, {1}, false);
    n.output(1, mask != nullptr ? counts : n.filled_like(counts, 0, DataType::kInt32));
  }
};

Embedding embedding_of(NodeImporter& n, int positions) {
  Embedding e{n, n.input(0), n.input(1), positions < 0 ? nullptr : n.input(positions), n.input(7)};
  if (e.positions == nullptr) e.positions = counting(n, extent_value(n, e.ids, 1));
  return e;
}

}  // namespace

/// Rows of three tables for words, positions and segments.
void import_embed_layer_normalization(NodeImporter& n, const OpRow&) {
  const Embedding e = embedding_of(n, 8);
  const auto rows = [&](Value* table, Value* ids) {
    return table && ids ? n.add(Gather{}, {table, ids}) : nullptr;
  };
  e.give({rows(n.input(2), e.ids), rows(n.input(3), e.positions), rows(n.input(4), e.segments)},
         n.input(5), n.input(6));
}

/// The same with tables and vectors of bytes, whose scales are operands 8 to 12 and whose zero
/// points are 13 to 17.
void import_quantized_embed_layer_normalization(NodeImporter& n, const OpRow&) {
  const Embedding e = embedding_of(n, -1);
  const auto real = [&](Value* bytes, int table) {
    return n.add(Dequantize{}, {bytes, n.input(table + 6), n.input(table + 11)});
  };
  const auto rows = [&](int table, Value* ids) {
    if (!n.has_input(table) || ids == nullptr) return static_cast<Value*>(nullptr);
    return real(n.add(Gather{}, {n.input(table), ids}), table);
  };
  e.give({rows(2, e.ids), rows(3, e.positions), rows(4, e.segments)}, real(n.input(5), 5),
         real(n.input(6), 6));
}

}  // namespace tenon::importer
