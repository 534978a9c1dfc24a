// Stock plugins: normalization and deformable convolution.
#include "network/stock_plugins.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

/// A list of numbers of x's type, along `axis` of rank `rank`.
Value* along(Emitter& e, const std::vector<double>& numbers, Value* x, int axis, int rank) {
  std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
  extents[static_cast<size_t>(axis)] = static_cast<int64_t>(numbers.size());
  return reals(e, numbers, std::move(extents), x);
}

}  // namespace

Values stock_instance_normalization(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 3)) return {};
  Values operands(in.begin(), in.end());
  if (in.size() == 1)
    for (const char* name : {"scales", "bias"})
      operands.push_back(along(e, fields.numbers(name), in[0], 0, 1));
  Normalization op;
  op.norm = NormKind::kInstance;
  op.epsilon = fields.real("epsilon", 1e-5);
  Value* y = e.add(std::move(op), operands);
  if (fields.flag("relu", false))
    y = e.pointwise(PointwiseFunction::k_leaky_relu, {y}, fields.real("alpha", 0));
  return {y};
}

Values stock_group_normalization(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  Normalization op;
  op.norm = NormKind::kGroup;
  op.groups = fields.integer("num_groups", 1);
  op.epsilon = fields.real("eps", 1e-5);
  Values operands = {in[0]};
  for (Value* value : in.subspan(1)) operands.push_back(e.reshape(value, {-1}));
  return {e.add(std::move(op), operands)};
}

Values stock_normalize(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const std::vector<int64_t> axes =
      fields.flag("acrossSpatial", true) ? std::vector<int64_t>{1, 2, 3} : std::vector<int64_t>{1};
  Value* squares = e.reduce(ReduceFunction::kSumSquare, in[0], axes, true);
  Value* normalized = e.div(in[0], e.sqrt(e.add(squares, fields.real("eps", 1e-10))));
  const std::vector<double> weights = fields.numbers("weights");
  if (weights.empty()) e.fail(user_error("the field weights is missing"));
  return {e.ok() ? e.mul(normalized, along(e, weights, in[0], 1, 4)) : nullptr};
}

Values stock_modulated_deform_conv(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 4, 5)) return {};
  DeformConv op;
  op.strides = fields.integers("stride");
  op.dilations = fields.integers("dilation");
  op.pads_begin = op.pads_end = fields.integers("padding");
  op.groups = fields.integer("group", 1);
  op.offset_groups = fields.integer("deformable_group", 1);
  // Its order: x, offset, mask, weights, bias. Of a mask of ones some parsers make too many.
  Value* mask = in[2];
  const Dim places = e.extent(in[1], 1), given = e.extent(mask, 1);
  if (places.is_constant() && given.is_constant() && given.constant() > places.constant() / 2)
    mask = e.slice(mask, 1, 0, places.constant() / 2);
  return {e.add(std::move(op), {in[0], in[3], in[1], in.size() > 4 ? in[4] : nullptr, mask})};
}

}  // namespace tenon::network
