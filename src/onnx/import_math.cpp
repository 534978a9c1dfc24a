// Scalar functions and functions made of them.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

Value* bounded(NodeImporter& n, Value* x, Value* low, Value* high) {
  if (low) x = n.max(x, low);
  if (high) x = n.min(x, high);
  return low || high ? x : n.add(Identity{}, {x});
}

/// Before opset 7 the second operand lay at an axis of the first one: extents of 1 fill up behind
/// it.
Value* second_operand(NodeImporter& n, int index) {
  Value* operand = n.input(index);
  if (n.opset() >= 7 || !n.has("axis")) return operand;
  const int64_t axis = n.normalized(n.integer_attribute("axis", 0), n.rank(n.input(0)));
  std::vector<int64_t> behind;
  for (int64_t i = axis + n.rank(operand); i < n.rank(n.input(0)); ++i) behind.push_back(i - axis);
  return n.unsqueeze(operand, std::move(behind));
}

/// Slopes of PRelu before opset 9 belong to channels.
Value* slope(NodeImporter& n) {
  Value* slope = n.input(1);
  const int rank = n.rank(n.input(0));
  if (n.opset() >= 7 || n.rank(slope) != 1 || rank < 3) return slope;
  std::vector<int64_t> behind;
  for (int64_t i = 1; i < rank - 1; ++i) behind.push_back(i);
  return n.unsqueeze(slope, std::move(behind));
}

/// One node when both bounds are numbers known now, else max and min.
Value* clip(NodeImporter& n, Value* x, Value* low, Value* high) {
  const std::optional<double> from = n.known_number(low);
  const std::optional<double> to = n.known_number(high);
  if (is_real(n.type(x)) && from && to && *from <= *to)
    return n.pointwise(F::k_clip, {x}, *from, *to);
  return bounded(n, x, low, high);
}

}  // namespace

void import_pointwise(NodeImporter& n, const OpRow& row) {
  const auto arity = static_cast<size_t>(pointwise_info(row.function).arity);
  if (n.inputs().size() != arity)
    return n.fail(ImportCode::kInvalidNode,
                  fmt::format("{} inputs instead of {}", n.inputs().size(), arity));
  const double alpha =
      row.alpha_name.empty() ? row.alpha : n.real_attribute(row.alpha_name, row.alpha);
  const double beta = row.beta_name.empty() ? row.beta : n.real_attribute(row.beta_name, row.beta);
  n.output(n.pointwise(row.function, n.inputs(), alpha, beta));
}

void import_variadic(NodeImporter& n, const OpRow& row) {
  Value* result = n.input(0);
  if (!result) return n.fail(ImportCode::kInvalidNode, "no inputs");
  const bool any_number = row.name == "Max" || row.name == "Min" || row.name == "Sum";
  if (!any_number && n.input_count() != 2) {
    return n.fail(ImportCode::kInvalidNode, fmt::format("{} inputs instead of 2", n.input_count()));
  }
  for (int i = 1; i < n.input_count(); ++i) {
    Value* operand = row.function == F::k_prelu ? slope(n) : second_operand(n, i);
    result = n.pointwise(row.function, {result, operand});
  }
  n.output(n.input_count() == 1 ? n.add(Identity{}, {result}) : result);
}

void import_mean(NodeImporter& n, const OpRow&) {
  Value* sum = n.input(0);
  for (int i = 1; i < n.input_count(); ++i) sum = n.add(sum, n.input(i));
  n.output(n.div(sum, n.number(n.input_count(), n.type(sum))));
}

void import_bit_shift(NodeImporter& n, const OpRow&) {
  const int right = n.choice("direction", "", {"LEFT", "RIGHT"});
  n.output(n.pointwise(right ? F::k_shift_right : F::k_shift_left, n.inputs()));
}

void import_cast(NodeImporter& n, const OpRow&) {
  Cast op(n.type_attribute("to", DataType::kFloat32));
  op.saturate = n.flag("saturate", true);
  op.round_mode = n.text("round_mode", "up");
  n.output(n.add(std::move(op), {n.input(0)}));
}

void import_cast_like(NodeImporter& n, const OpRow&) {
  Cast op(n.type(n.input(1)));
  op.saturate = n.flag("saturate", true);
  op.round_mode = n.text("round_mode", "up");
  n.output(n.add(std::move(op), {n.input(0)}));
}

void import_bit_cast(NodeImporter& n, const OpRow&) {
  const DataType to = n.type_attribute("to", DataType::kFloat32);
  if (byte_size(to) != byte_size(n.type(n.input(0))))
    return n.fail(ImportCode::kInvalidNode, "the two element types differ in size");
  BitCast op;
  op.to = to;
  n.output(n.add(op, {n.input(0)}));
}

void import_clip_attributes(NodeImporter& n, const OpRow&) {
  const DataType type = n.type(n.input(0));
  Value* low = n.has("min") ? n.number(n.real_attribute("min", 0), type) : nullptr;
  Value* high = n.has("max") ? n.number(n.real_attribute("max", 0), type) : nullptr;
  n.output(clip(n, n.input(0), low, high));
}

void import_clip(NodeImporter& n, const OpRow&) {
  n.output(clip(n, n.input(0), n.input(1), n.input(2)));
}

void import_gelu(NodeImporter& n, const OpRow&) {
  const int tanh = n.choice("approximate", "none", {"none", "tanh"});
  n.output(n.pointwise(tanh ? F::k_gelu_tanh : F::k_gelu_erf, {n.input(0)}));
}

void import_is_inf(NodeImporter& n, const OpRow&) {
  const double negative = n.flag("detect_negative", true) ? 1 : 0;
  const double positive = n.flag("detect_positive", true) ? 1 : 0;
  n.output(n.pointwise(F::k_is_inf, {n.input(0)}, negative, positive));
}

void import_mod(NodeImporter& n, const OpRow&) {
  n.output(n.pointwise(n.flag("fmod") ? F::k_fmod : F::k_mod, n.inputs()));
}

/// The result has the base's type, whatever the exponent's.
void import_pow(NodeImporter& n, const OpRow&) {
  Value* base = n.input(0);
  Value* exponent = second_operand(n, 1);
  const DataType type = n.type(base);
  if (!is_real(type) && is_real(n.type(exponent)))
    return n.output(
        n.cast(n.pointwise(F::k_pow, {n.cast(base, n.type(exponent)), exponent}), type));
  n.output(n.pointwise(F::k_pow, {base, n.cast(exponent, type)}));
}

void import_swiglu(NodeImporter& n, const OpRow&) {
  Value* gate = n.pointwise(F::k_swish, {n.input(0)}, n.real_attribute("alpha", 1));
  n.output(n.mul(gate, n.input(1)));
}

/// Distances of each row of A to each row of B.
void import_cdist(NodeImporter& n, const OpRow&) {
  const std::string metric = n.text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  fmt::format("metric \"{}\" is not supported", metric));
  Value* apart = n.sub(n.unsqueeze(n.input(0), {1}), n.unsqueeze(n.input(1), {0}));
  Value* squares = n.reduce(ReduceFunction::kSum, n.mul(apart, apart), {2}, false);
  n.output(metric == "euclidean" ? n.sqrt(squares) : squares);
}

void import_binarizer(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  Value* above =
      n.pointwise(F::k_greater, {x, n.number(n.real_attribute("threshold", 0), n.type(x))});
  n.output(n.cast(above, n.type(x)));
}

}  // namespace tenon::importer
