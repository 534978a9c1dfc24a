// Cutting ranges out of a tensor.
#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// The range taken from one axis.
struct Cut {
  int64_t start = 0, step = 1, count = 0;
};

Cut cut_of(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const auto clamp = [&](int64_t at) {
    const int64_t absolute = at < 0 ? saturating_add(at, extent) : at;
    return step > 0 ? std::clamp<int64_t>(absolute, 0, extent)
                    : std::clamp<int64_t>(absolute, -1, extent - 1);
  };
  const int64_t first = clamp(start), last = clamp(end);
  const int64_t distance = step > 0 ? last - first : first - last;
  if (distance <= 0) return {std::max<int64_t>(first, 0), step, 0};
  const int64_t stride = step > 0 ? step : saturating_negate(step);
  return {first, step, 1 + (distance - 1) / stride};
}

/// A bound of a symbolic slice as a place in [0, extent], for a positive step; nothing when its
/// sign is not known.
std::optional<Dim> place_of(const Dim& bound, const Dim& extent, const InferContext& context) {
  const Range range = range_of(bound, context);
  if (bound.is_constant() && bound.constant() >= INT32_MAX) return extent;
  if (range.min >= 0) return lesser(bound, extent, context);
  if (range.max < 0) return greater(bound + extent, 0, context);
  return std::nullopt;
}

/// Length of a slice, or nothing when it is data-dependent.
std::optional<Dim> slice_length(const Dim& extent, const Dim& start, const Dim& end, int64_t step,
                                const InferContext& context) {
  if (extent.is_constant() && start.is_constant() && end.is_constant())
    return Dim(cut_of(extent.constant(), start.constant(), end.constant(), step).count);
  if (step < 0) {
    const bool whole = start == Dim(-1) && end.is_constant() && end.constant() <= INT32_MIN + 1;
    if (!whole || step == INT64_MIN) return std::nullopt;
    return ceil_div(extent, -step);
  }
  const auto first = place_of(start, extent, context);
  const auto last = place_of(end, extent, context);
  if (!first || !last) return std::nullopt;
  // From a place within the axis to its end cannot be negative.
  const Dim distance = *last - *first;
  return ceil_div(*last == extent ? distance : greater(distance, 0, context), step);
}

struct SliceOperands {
  std::optional<std::vector<Dim>> starts, ends;
  std::optional<std::vector<int64_t>> steps;  ///< Nothing: unknown.
  std::vector<int> axes;
};

Result<std::vector<int>> slice_axes(const std::optional<std::vector<int64_t>>& given, int64_t count,
                                    int rank, const Fail& fail) {
  if (given) {
    if (static_cast<int64_t>(given->size()) != count)
      return fail("{} axes for {} starts", given->size(), count);
    return resolve_axes(*given, rank, fail);
  }
  if (count > rank) return fail("{} starts for rank {}", count, rank);
  std::vector<int> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Result<SliceOperands> slice_operands(const InferContext& context) {
  SliceOperands operands{context.elements(1), context.elements(2), context.integers(4), {}};
  const auto axes = context.integers(3);
  const Shape& length = context.shape(1);
  if (context.has_input(3) && !axes)
    return context.fail("the axes must be known while building; make them a constant");
  if (length.size() > 1 || (length.size() == 1 && !length[0].is_constant()))
    return context.fail("starts must be a vector of fixed length");
  // Branches that exporters leave behind have scalars.
  const int64_t count = length.empty() ? 1 : length[0].constant();
  TENON_ASSIGN(operands.axes, slice_axes(axes, count, context.rank(0), context));
  if (!context.has_input(4)) operands.steps.emplace(count, 1);
  const auto fits = [&](const auto& list) {
    return !list || static_cast<int64_t>(list->size()) == count;
  };
  if (!fits(operands.starts) || !fits(operands.ends) || !fits(operands.steps))
    return context.fail("starts, ends and steps differ in length");
  if (operands.steps && std::count(operands.steps->begin(), operands.steps->end(), 0) > 0)
    return context.fail("a step is 0");
  return operands;
}

Result<std::vector<Cut>> cuts_of(const EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto starts, integers_of(context, 1));
  TENON_ASSIGN(const auto ends, integers_of(context, 2));
  std::optional<std::vector<int64_t>> given;
  if (context.has_input(3)) {
    TENON_ASSIGN(given, integers_of(context, 3));
  }
  std::vector<int64_t> steps(starts.size(), 1);
  if (context.has_input(4)) {
    TENON_ASSIGN(steps, integers_of(context, 4));
  }
  if (ends.size() != starts.size() || steps.size() != starts.size())
    return context.fail("starts, ends and steps differ in length");
  TENON_ASSIGN(const auto axes,
               slice_axes(given, static_cast<int64_t>(starts.size()), x.rank(), context));
  std::vector<Cut> cuts;
  for (const int64_t extent : x.extents()) cuts.push_back({0, 1, extent});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return context.fail("a step is 0");
    cuts[axes[i]] = cut_of(x.extents()[axes[i]], starts[i], ends[i], steps[i]);
  }
  return cuts;
}

}  // namespace

Status infer(const Slice&, InferContext& context) {
  TENON_ASSIGN(const SliceOperands operands, slice_operands(context));
  Shape shape = context.shape(0);
  for (size_t i = 0; i < operands.axes.size(); ++i) {
    Dim& extent = shape[operands.axes[i]];
    std::optional<Dim> length;
    if (operands.starts && operands.ends && operands.steps)
      length = slice_length(extent, (*operands.starts)[i], (*operands.ends)[i],
                            (*operands.steps)[i], context);
    extent = length ? *length : context.data_dependent(extent);
  }
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const Slice&, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const std::vector<Cut> cuts, cuts_of(context));
  const Strides dense = row_major_strides(x.extents());
  Extents extents;
  Strides from;
  int64_t offset = 0;
  for (size_t i = 0; i < cuts.size(); ++i) {
    extents.push_back(cuts[i].count);
    // A step beyond the axis takes one element, its stride is never used.
    from.push_back(cuts[i].count > 1 ? cuts[i].step * dense[i] : 0);
    offset += cuts[i].start * dense[i];
  }
  const int bytes = byte_size(x.type());
  Tensor& y = context.make_output(0, x.type(), extents);
  if (y.count() == 0) return {};
  strided_copy(y.mutable_bytes(), row_major_strides(extents), x.bytes() + offset * bytes, from,
               extents, bytes);
  return {};
}

}  // namespace tenon
