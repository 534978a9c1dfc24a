// Quantize, Dequantize and DynamicQuantize.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "ops/axes.h"
#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Where the scale of an element is found: groups of elements that share one, along an axis.
struct Scales {
  AxisView view;
  int64_t block = 1;   ///< Elements along the axis that share a scale.
  int64_t stride = 0;  ///< 0: one scale for all.
  bool per_block = false;

  /// Index of the scale for element (outer, position, inner).
  int64_t index(int64_t outer, int64_t position, int64_t inner) const {
    if (!per_block) return position * stride;
    const int64_t blocks = ceil_div(view.extent, block);
    return (outer * blocks + position / block) * view.inner + inner;
  }
};

/// Checks the scale's shape against x; constants only are compared.
template <class Context>
Status check_scale(const Context& context, const Shape& x, const Shape& scale, int64_t axis,
                   int64_t block) {
  const auto rank = static_cast<int64_t>(x.size());
  if (scale.empty() || (scale.size() == 1 && scale[0] == Dim(1) && block == 0)) return {};
  if (axis < -rank || axis >= rank)
    return context.fail(fmt::format("axis {} is outside [{}, {})", axis, -rank, rank));
  const Dim& extent = x[axis < 0 ? axis + rank : axis];
  const auto differ = [](const Dim& a, const Dim& b) {
    return a.is_constant() && b.is_constant() && a != b;
  };
  if (block == 0) {
    if (scale.size() == 1 && !differ(scale[0], extent)) return {};
    return context.fail(fmt::format("a scale of shape {} does not fit {} along axis {}",
                                    to_string(scale), to_string(x), axis));
  }
  if (block < 0) return context.fail("block_size is negative");
  bool fits = scale.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i) {
    const bool is_axis = static_cast<int64_t>(i) == (axis < 0 ? axis + rank : axis);
    fits = !differ(scale[i], is_axis ? ceil_div(x[i], block) : x[i]);
  }
  if (fits) return {};
  return context.fail(
      fmt::format("a scale of shape {} does not fit {} in blocks of {} along axis {}",
                  to_string(scale), to_string(x), block, axis));
}

/// Zero points are as many as scales; constants only are compared.
template <class Context>
Status check_zero_point(const Context& context, const Shape& scale, const Shape& zero_point) {
  const auto count = [](const Shape& shape) {
    int64_t product = 1;
    for (const Dim& dim : shape)
      product = dim.is_constant() && product >= 0 ? product * dim.constant() : -1;
    return product;
  };
  const int64_t scales = count(scale), zeros = count(zero_point);
  if (scales < 0 || zeros < 0 || scales == zeros) return {};
  return context.fail(fmt::format("a scale of shape {} and a zero point of shape {} differ",
                                  to_string(scale), to_string(zero_point)));
}

Scales make_scales(const Tensor& x, const Tensor& scale, int64_t axis, int64_t block) {
  Scales scales;
  if (scale.count() == 1 && block == 0) {
    scales.view = {1, x.count(), 1};
    return scales;
  }
  scales.view = view_along(x.extents(), axis < 0 ? axis + x.rank() : axis);
  scales.per_block = block > 0;
  scales.block = std::max<int64_t>(block, 1);
  scales.stride = 1;
  return scales;
}

/// f(element, scale index) for each element in order.
template <class F> void for_each_element(const Scales& scales, F f) {
  int64_t element = 0;
  for (int64_t outer = 0; outer < scales.view.outer; ++outer)
    for (int64_t position = 0; position < scales.view.extent; ++position)
      for (int64_t inner = 0; inner < scales.view.inner; ++inner)
        f(element++, scales.index(outer, position, inner));
}

bool is_quantized_type(DataType type) {
  return is_integer(type) ? byte_size(type) <= 2 : is_real(type) && byte_size(type) == 1;
}

}  // namespace

Status infer(const Quantize& op, InferContext& context) {
  const bool i32 = context.input(0).type == DataType::kInt32;
  if (!is_real(context.input(0).type) && !i32) return context.fail("a real input is expected");
  const DataType to = context.has_input(2) ? context.input(2).type : op.to;
  if (!is_quantized_type(to))
    return context.fail(fmt::format("{} is not a type to quantize to", name_of(to)));
  TENON_TRY(check_scale(context, context.shape(0), context.shape(1), op.axis, op.block_size));
  if (context.has_input(2)) {
    TENON_TRY(check_scale(context, context.shape(0), context.shape(2), op.axis, op.block_size));
    TENON_TRY(check_zero_point(context, context.shape(1), context.shape(2)));
  }
  return context.finish(to, context.shape(0));
}

Status evaluate(const Quantize& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  TENON_TRY(check_scale(context, to_shape(x.extents()), to_shape(scale.extents()), op.axis,
                        op.block_size));
  const bool has_zero = context.has_input(2);
  if (has_zero && context.input(2).count() != scale.count())
    return context.fail("scale and zero point differ in shape");
  const DataType to = has_zero ? context.input(2).type() : op.to;
  if (!is_quantized_type(to)) return context.fail("not a type to quantize to");
  Tensor& out = context.make_output(0, to, x.extents());
  const Scales scales = make_scales(x, scale, op.axis, op.block_size);
  const Values<float> values(x), factors(scale);
  std::vector<float> zeros(scale.count(), 0.0f);
  for (int64_t i = 0; has_zero && i < scale.count(); ++i)
    zeros[i] = static_cast<float>(context.input(2).as_double(i));
  std::vector<float> quotients(x.count());
  const bool to_integer = is_integer(to);
  for_each_element(scales, [&](int64_t i, int64_t s) {
    const float quotient = values[i] / factors[s];
    quotients[i] = (to_integer ? std::rint(quotient) : quotient) + zeros[s];
  });
  if (to_integer || op.saturate) {
    store_values(std::span<const float>(quotients), out);
    return {};
  }
  // Without saturation the 8-bit float types follow the rules of casts.
  Tensor reals = tensor_of_values(DataType::kFloat32, x.extents(), quotients);
  Cast cast(to);
  cast.saturate = false;
  const Tensor* operand = &reals;
  EvalContext inner(context.node(), std::span(&operand, 1));
  TENON_TRY(evaluate(cast, inner));
  return context.finish(inner.outputs()[0]);
}

Status infer(const Dequantize& op, InferContext& context) {
  if (context.input(0).type == DataType::kBool)
    return context.fail("a quantized input is expected");
  if (!is_real(op.to)) return context.fail(fmt::format("{} is not a real type", name_of(op.to)));
  TENON_TRY(check_scale(context, context.shape(0), context.shape(1), op.axis, op.block_size));
  if (context.has_input(2))
    TENON_TRY(check_zero_point(context, context.shape(1), context.shape(2)));
  return context.finish(op.to, context.shape(0));
}

Status evaluate(const Dequantize& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  TENON_TRY(check_scale(context, to_shape(x.extents()), to_shape(scale.extents()), op.axis,
                        op.block_size));
  const bool has_zero = context.has_input(2);
  if (has_zero && context.input(2).count() != scale.count())
    return context.fail("scale and zero point differ in shape");
  Tensor& out = context.make_output(0, op.to, x.extents());
  const Scales scales = make_scales(x, scale, op.axis, op.block_size);
  std::vector<double> zeros(scale.count(), 0.0);
  for (int64_t i = 0; has_zero && i < scale.count(); ++i) zeros[i] = context.input(2).as_double(i);
  // 32-bit integers less their zero point are exact in double.
  const Values<double> values(x);
  const Values<float> factors(scale);
  std::vector<float> result(x.count());
  for_each_element(scales, [&](int64_t i, int64_t s) {
    result[i] = static_cast<float>(values[i] - zeros[s]) * factors[s];
  });
  store_values(std::span<const float>(result), out);
  return {};
}

Status infer(const DynamicQuantize&, InferContext& context) {
  if (!is_real(context.input(0).type)) return context.fail("a real input is expected");
  context.set_output(0, DataType::kUInt8, context.shape(0));
  context.set_output(1, DataType::kFloat32, {});
  context.set_output(2, DataType::kUInt8, {});
  return {};
}

Status evaluate(const DynamicQuantize&, EvalContext& context) {
  const Values<float> values(context.input(0));
  float low = 0, high = 0;  // The range includes zero.
  for (int64_t i = 0; i < values.size(); ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  // In this order 0 where infinities give NaN.
  const float zero = std::min(std::max(0.0f, std::rint(-low / scale)), 255.0f);
  std::vector<float> result(values.size());
  for (int64_t i = 0; i < values.size(); ++i) result[i] = std::rint(values[i] / scale) + zero;
  Tensor& out = context.make_output(0, DataType::kUInt8, context.input(0).extents());
  store_values(std::span<const float>(result), out);
  context.set_output(1, Tensor::scalar_f32(scale));
  context.make_output(2, DataType::kUInt8, {}).set_from_double(0, zero);
  return {};
}

}  // namespace tenon
