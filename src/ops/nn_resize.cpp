#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/resize_taps.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Resizing of one axis.
struct AxisResize {
  int axis = 0;
  int64_t input = 0, output = 0;
  double scale = 1, roi_begin = 0, roi_end = 1;
};

/// Absent or empty operands are null.
struct ResizeOperands {
  const Tensor *roi, *scales, *sizes;
};

ResizeOperands operands_of(const EvalContext& context) {
  const auto given = [&](int index) {
    return context.has_input(index) && context.input(index).count() > 0 ? &context.input(index)
                                                                        : nullptr;
  };
  return {given(1), given(2), given(3)};
}

Result<std::vector<int>> resized_axes(const Resize& op, int rank, const Fail& fail) {
  std::vector<int64_t> axes = op.axes;
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return resolve_axes(axes, rank, fail);
}

bool present(const InferContext& context, int index) {
  if (!context.has_input(index)) return false;
  const Shape& shape = context.shape(index);
  return !(shape.size() == 1 && shape[0] == Dim(0));
}

/// The scale of all axes under an aspect policy, from the wanted sizes; none where each axis has
/// its own.
std::optional<double> kept_scale(const Resize& op, const Extents& x, const std::vector<int>& axes,
                                 const std::vector<int64_t>& sizes) {
  if (op.aspect == AspectPolicy::kStretch || axes.empty()) return std::nullopt;
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(x[axes[i]]));
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  return op.aspect == AspectPolicy::kNotLarger ? *least : *most;
}

int64_t rounded(int64_t extent, double scale) {
  return saturate_to<int64_t>(std::floor(scale * static_cast<double>(extent) + 0.5));
}

/// floor(extent * scale) with the product in f32, as exporters expect it: 7 * (9 / 7) is 9 there.
/// That of large extents, which f32 does not have, in f64.
int64_t scaled(int64_t extent, double scale) {
  constexpr double kLeastLarge = 1 << 18;
  const double product = static_cast<double>(extent) * scale;
  const bool is_large = !(product < kLeastLarge);
  return saturate_to<int64_t>(std::floor(is_large ? product : static_cast<float>(product)));
}

/// The same, exact for symbolic extents where the scale is a simple ratio.
std::optional<Dim> scaled(const Dim& extent, double scale) {
  if (extent.is_constant()) return Dim(scaled(extent.constant(), scale));
  for (int64_t divisor = 1; divisor <= 64; ++divisor) {
    const double factor = scale * static_cast<double>(divisor);
    if (factor == std::floor(factor) && std::abs(factor) < 1e6)
      return floor_div(extent * static_cast<int64_t>(factor), divisor);
  }
  return std::nullopt;
}

Status shape_by_sizes(const Resize& op, InferContext& context, const std::vector<int>& axes,
                      Shape& shape) {
  const auto sizes = context.elements(3);
  const Shape x = shape;
  if (sizes && sizes->size() != axes.size())
    return context.fail(fmt::format("{} sizes for {} axes", sizes->size(), axes.size()));
  if (sizes && op.aspect == AspectPolicy::kStretch) {
    for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = (*sizes)[i];
  } else if (sizes && is_constant(*sizes) && is_constant(x)) {
    const auto scale = kept_scale(op, constants(x), axes, constants(*sizes));
    for (const int axis : axes) shape[axis] = rounded(x[axis].constant(), scale.value());
  } else {
    for (const int axis : axes) shape[axis] = context.data_dependent(kUnbounded);
  }
  return {};
}

Status shape_by_scales(InferContext& context, const std::vector<int>& axes, Shape& shape) {
  const Tensor* scales = context.constant(2);
  if (scales != nullptr && scales->count() != static_cast<int64_t>(axes.size()))
    return context.fail(fmt::format("{} scales for {} axes", scales->count(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& extent = shape[axes[i]];
    std::optional<Dim> size;
    if (scales != nullptr) {
      const double scale = scales->as_double(static_cast<int64_t>(i));
      if (!(scale > 0)) return context.fail(fmt::format("scale {} is not positive", scale));
      size = scaled(extent, scale);
    }
    extent = size ? *size : context.data_dependent(kUnbounded);
  }
  return {};
}

Status read_roi(const Resize& op, const Tensor* roi, const Fail& fail,
                std::vector<AxisResize>& plans) {
  if (op.coordinates != CoordinateMode::kTfCropAndResize) return {};
  const auto n = static_cast<int64_t>(plans.size());
  if (roi == nullptr || roi->count() != 2 * n)
    return fail("tf_crop_and_resize needs a roi of {} numbers", 2 * n);
  for (int64_t i = 0; i < n; ++i) {
    plans[i].roi_begin = roi->as_double(i);
    plans[i].roi_end = roi->as_double(i + n);
  }
  return {};
}

Result<std::vector<AxisResize>> plan_resize(const Resize& op, const Extents& x,
                                            const ResizeOperands& operands, const Fail& fail) {
  TENON_ASSIGN(const auto axes, resized_axes(op, static_cast<int>(x.size()), fail));
  const bool by_sizes = operands.sizes != nullptr;
  if (by_sizes == (operands.scales != nullptr))
    return fail("exactly one of scales and sizes must be given");
  const Tensor& given = by_sizes ? *operands.sizes : *operands.scales;
  if (given.count() != static_cast<int64_t>(axes.size()))
    return fail("{} numbers for {} axes", given.count(), axes.size());
  std::optional<double> kept;
  if (by_sizes) kept = kept_scale(op, x, axes, given.to_int64s());
  std::vector<AxisResize> plans;
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisResize plan{axes[i], x[axes[i]], 0, 1, 0, 1};
    const auto extent = static_cast<double>(plan.input);
    if (kept) {
      plan.scale = *kept;
      plan.output = rounded(plan.input, *kept);
    } else if (by_sizes) {
      plan.output = given.as_int64(static_cast<int64_t>(i));
      plan.scale = plan.input == 0 ? 1 : static_cast<double>(plan.output) / extent;
    } else {
      plan.scale = given.as_double(static_cast<int64_t>(i));
      plan.output = scaled(plan.input, plan.scale);
    }
    if (plan.output < 0 || (plan.output > 0 && (plan.input == 0 || !(plan.scale > 0))))
      return fail("axis {} cannot be resized from {} by {}", plan.axis, plan.input, plan.scale);
    plans.push_back(plan);
  }
  TENON_TRY(read_roi(op, operands.roi, fail, plans));
  return plans;
}

/// Place in the input of output element `i`.
double source_place(const Resize& op, const AxisResize& plan, double i) {
  const double last = static_cast<double>(plan.input - 1);
  const double width = plan.scale * static_cast<double>(plan.input);
  const double centred = (i + 0.5) / plan.scale - 0.5;
  switch (op.coordinates) {
    case CoordinateMode::kHalfPixel: return centred;
    case CoordinateMode::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(plan.output) / width;
      return static_cast<double>(plan.input) / 2 * (1 - adjustment) + centred;
    }
    case CoordinateMode::kPytorchHalfPixel: return plan.output == 1 ? 0 : centred;
    case CoordinateMode::kAlignCorners: return width == 1 ? 0 : i * last / (width - 1);
    case CoordinateMode::kAsymmetric: return i / plan.scale;
    case CoordinateMode::kTfHalfPixelForNn: return (i + 0.5) / plan.scale;
    case CoordinateMode::kTfCropAndResize: break;
  }
  const double crop = (plan.roi_end - plan.roi_begin) * last;
  return plan.roi_begin * last + (width == 1 ? crop / 2 : i * crop / (width - 1));
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

/// Neighbour that a nearest mode takes: 0 the left neighbour, 1 the right one.
double nearest_right(NearestMode mode, double ratio) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor: return ratio > 0.5;
    case NearestMode::kRoundPreferCeil: return ratio >= 0.5;
    case NearestMode::kFloor: return 0;
    default: return 1;
  }
}

/// Weights of consecutive input elements, the first at `first`.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
  bool outside = false;  ///< Of the input, where tf_crop_and_resize extrapolates.
};

/// `ratio` in (0, 1] is the distance from the left neighbour.
std::vector<double> tap_weights(const Resize& op, double ratio, double scale, int64_t reach) {
  if (op.mode == ResizeMode::kNearest) {
    const double right = ratio == 1 ? 1 : nearest_right(op.nearest, ratio);
    return {1 - right, right};
  }
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = 1 - reach; i <= reach; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * scale;
    weights.push_back(op.mode == ResizeMode::kCubic ? cubic_weight(distance, op.cubic_coefficient)
                                                    : std::clamp(1 - std::abs(distance), 0.0, 1.0));
    sum += weights.back();
  }
  if (op.antialias)
    for (double& weight : weights) weight /= sum;
  return weights;
}

Taps taps_at(const Resize& op, const AxisResize& plan, int64_t i) {
  const double place = source_place(op, plan, static_cast<double>(i));
  const auto limit = static_cast<double>(plan.input - 1);
  Taps taps;
  taps.outside =
      op.coordinates == CoordinateMode::kTfCropAndResize && !(place >= 0 && place <= limit);
  if (taps.outside) return taps;
  const double bounded = std::clamp(place, -4.0e9, 4.0e9);
  const double left = std::ceil(bounded) - 1;
  const double scale =
      op.antialias && op.mode != ResizeMode::kNearest ? std::min(plan.scale, 1.0) : 1.0;
  const double support = op.mode == ResizeMode::kCubic ? 2 : 1;
  const auto reach = static_cast<int64_t>(-std::floor(-support / scale));
  taps.weights = tap_weights(op, bounded - left, scale, reach);
  taps.first = static_cast<int64_t>(left) + 1 - reach;
  if (!op.exclude_outside) return taps;
  double sum = 0;
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const int64_t at = taps.first + static_cast<int64_t>(k);
    if (at < 0 || at >= plan.input) taps.weights[k] = 0;
    sum += taps.weights[k];
  }
  for (double& weight : taps.weights) weight /= sum;
  return taps;
}

/// Resizes one axis of values seen as [outer, input, inner].
template <class T>
std::vector<T> resize_axis(const Resize& op, const AxisResize& plan, const std::vector<T>& x,
                           int64_t outer, int64_t inner) {
  std::vector<T> y(static_cast<size_t>(outer * plan.output * inner), T(0));
  for (int64_t i = 0; i < plan.output; ++i) {
    const Taps taps = taps_at(op, plan, i);
    for (int64_t o = 0; o < outer; ++o) {
      T* to = y.data() + (o * plan.output + i) * inner;
      if (taps.outside) std::fill_n(to, inner, static_cast<T>(op.extrapolation_value));
      for (size_t k = 0; k < taps.weights.size(); ++k) {
        if (taps.weights[k] == 0) continue;
        const int64_t at =
            std::clamp<int64_t>(taps.first + static_cast<int64_t>(k), 0, plan.input - 1);
        const T* from = x.data() + (o * plan.input + at) * inner;
        const T weight = static_cast<T>(taps.weights[k]);
        for (int64_t n = 0; n < inner; ++n) to[n] += weight * from[n];
      }
    }
  }
  return y;
}

bool changes(const Resize& op, const AxisResize& plan) {
  return plan.output != plan.input || plan.scale != 1 ||
         op.coordinates == CoordinateMode::kTfCropAndResize;
}

}  // namespace

Result<std::vector<ResizedAxis>> resized_axes(const Operation& operation, const Extents& x,
                                              const Extents& y, const Tensor* roi,
                                              const Tensor* scales, const Tensor* sizes) {
  const auto& op = *operation.as<Resize>();
  const Fail fail(operation.node());
  TENON_ASSIGN(const auto axes, resized_axes(op, static_cast<int>(x.size()), fail));
  std::vector<int64_t> extents;
  for (const int axis : axes) extents.push_back(y[axis]);
  const Tensor of_result = Tensor::vector_i64(extents);
  if (scales == nullptr && sizes == nullptr) sizes = &of_result;
  TENON_ASSIGN(const auto plans, plan_resize(op, x, {roi, scales, sizes}, fail));
  std::vector<ResizedAxis> result;
  for (const AxisResize& plan : plans) {
    if (!changes(op, plan)) continue;
    ResizedAxis axis{plan.axis, {}};
    for (int64_t i = 0; i < plan.output; ++i) {
      const Taps taps = taps_at(op, plan, i);
      if (taps.outside) return unsupported("extrapolation");
      auto& row = axis.taps.emplace_back();
      for (size_t k = 0; k < taps.weights.size(); ++k)
        if (taps.weights[k] != 0)
          row.push_back(
              {std::clamp<int64_t>(taps.first + static_cast<int64_t>(k), 0, plan.input - 1),
               taps.weights[k]});
    }
    result.push_back(std::move(axis));
  }
  return result;
}

Status infer(const Resize& op, InferContext& context) {
  TENON_ASSIGN(const auto axes, resized_axes(op, context.rank(0), context));
  const bool by_sizes = present(context, 3);
  if (by_sizes == present(context, 2))
    return context.fail("exactly one of scales and sizes must be given");
  Shape shape = context.shape(0);
  if (by_sizes)
    TENON_TRY(shape_by_sizes(op, context, axes, shape));
  else
    TENON_TRY(shape_by_scales(context, axes, shape));
  for (const Dim& extent : shape)
    if (extent.is_constant() && extent.constant() < 0) return context.fail("a size is negative");
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Resize& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto plans, plan_resize(op, x.extents(), operands_of(context), context));
  Extents extents = x.extents();
  for (const AxisResize& plan : plans) extents[plan.axis] = plan.output;
  TENON_ASSIGN(extents, concrete(to_shape(extents), context));
  const auto run = [&](auto real) {
    using T = decltype(real);
    const Values<T> from(x);
    std::vector<T> values(from.data(), from.data() + from.size());
    Extents now = x.extents();
    // Last axis first, as nested interpolation does: it decides which axis extrapolates last.
    for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
      if (!changes(op, *plan)) continue;
      values = resize_axis(op, *plan, values, count_between(now, 0, plan->axis),
                           count_between(now, plan->axis + 1, x.rank()));
      now[plan->axis] = plan->output;
    }
    return tensor_of_values(x.type(), extents, values);
  };
  const bool exact = is_integer(x.type()) && byte_size(x.type()) >= 4;
  return context.finish(exact ? run(double{}) : with_real(x.type(), run));
}

}  // namespace tenon
