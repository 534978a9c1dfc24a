// Adding and removing borders.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/arithmetic.h"
#include "ops/movement.h"
#include "ops/pad_places.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Elements before and after each axis of x.
template <class T> struct Borders { std::vector<T> begin, end; };

template <class T>
Result<Borders<T>> borders_of(const std::vector<T>& pads,
                              const std::optional<std::vector<int64_t>>& axes, int rank,
                              const Fail& fail) {
  std::vector<int> resolved(rank);
  std::iota(resolved.begin(), resolved.end(), 0);
  if (axes) {
    TENON_ASSIGN(resolved, resolve_axes(*axes, rank, fail));
  }
  const size_t count = resolved.size();
  if (pads.size() != 2 * count)
    return fail("{} pads for {} axes; two an axis are needed", pads.size(), count);
  Borders<T> borders{std::vector<T>(rank, T(0)), std::vector<T>(rank, T(0))};
  for (size_t i = 0; i < count; ++i) {
    borders.begin[resolved[i]] = pads[i];
    borders.end[resolved[i]] = pads[i + count];
  }
  return borders;
}

/// For each place along a padded axis the place in x, or -1 for the constant. Borders that are
/// negative take elements off, before the others repeat the rest.
Result<std::vector<int64_t>> sources(int64_t extent, int64_t begin, int64_t count, PadFill fill,
                                     const Fail& fail) {
  std::vector<int64_t> places(count);
  const int64_t first = std::max<int64_t>(-begin, 0);
  const int64_t left = std::min(extent, count - begin) - first;
  if (left <= 0 && count > 0 && fill != PadFill::kConstant)
    return fail("an empty axis can only be padded with a constant");
  const int64_t period = std::max<int64_t>(2 * (left - 1), 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i - begin - first;
    if (at >= 0 && at < left)
      places[i] = first + at;
    else if (fill == PadFill::kConstant)
      places[i] = -1;
    else if (fill == PadFill::kEdge)
      places[i] = first + (at < 0 ? 0 : left - 1);
    else if (fill == PadFill::kWrap)
      places[i] = first + floor_modulo(at, left);
    else
      places[i] =
          first + std::min(floor_modulo(at, period), period - floor_modulo(at, period)) % left;
  }
  return places;
}

/// y[i, j, ...] = x[places[0][i], places[1][j], ...], the constant where a place is -1.
void gather_places(const Tensor& x, const std::vector<std::vector<int64_t>>& places,
                   const std::byte* constant, Tensor& y) {
  const int bytes = byte_size(x.type());
  if (y.count() == 0) return;
  if (places.empty()) {
    std::memcpy(y.mutable_bytes(), x.bytes(), static_cast<size_t>(bytes));
    return;
  }
  const Strides strides = row_major_strides(x.extents());
  const Extents outer(y.extents().begin(), y.extents().end() - 1);
  const std::vector<int64_t>& row = places.back();
  Extents position(outer.size(), 0);
  std::byte* to = y.mutable_bytes();
  do {
    int64_t offset = 0;
    bool outside = false;
    for (size_t i = 0; i < outer.size(); ++i) {
      outside |= places[i][position[i]] < 0;
      offset += places[i][position[i]] * strides[i];
    }
    for (const int64_t place : row) {
      const std::byte* from =
          outside || place < 0 ? constant : x.bytes() + (offset + place) * bytes;
      std::memcpy(to, from, static_cast<size_t>(bytes));
      to += bytes;
    }
  } while (advance(position, outer));
}

/// The padding value as bytes of x's type, zero when absent.
Tensor pad_value(const EvalContext& context) {
  Tensor value(context.input(0).type(), {});
  std::memset(value.mutable_bytes(), 0, static_cast<size_t>(value.byte_count()));
  if (!context.has_input(2) || context.input(2).count() < 1) return value;
  if (context.input(2).type() == value.type()) return context.input(2);
  value.set_from_double(0, context.input(2).as_double(0));
  return value;
}

Result<std::vector<Dim>> crop_pad_shape(const CenterCropPad& op, const Shape& x,
                                        const std::vector<Dim>& target, const Fail& fail) {
  const int rank = static_cast<int>(x.size());
  std::vector<int64_t> axes = op.axes;
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  TENON_ASSIGN(const auto resolved, resolve_axes(axes, rank, fail));
  if (target.size() != resolved.size())
    return fail("{} extents for {} axes", target.size(), resolved.size());
  Shape shape = x;
  for (size_t i = 0; i < target.size(); ++i) shape[resolved[i]] = target[i];
  return shape;
}

}  // namespace

Result<std::vector<std::vector<int64_t>>> pad_places(const Operation& operation, const Extents& x,
                                                     const std::vector<int64_t>& pads,
                                                     const std::vector<int64_t>& axes,
                                                     PadFill fill) {
  const Fail fail(operation.node());
  TENON_ASSIGN(const auto borders,
               borders_of(pads, std::optional(axes), static_cast<int>(x.size()), fail));
  std::vector<std::vector<int64_t>> places;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t count = x[i] + borders.begin[i] + borders.end[i];
    TENON_ASSIGN(auto axis, sources(x[i], borders.begin[i], count, fill, fail));
    places.push_back(std::move(axis));
  }
  return places;
}

Status infer(const Pad&, InferContext& context) {
  const Shape& x = context.shape(0);
  const auto pads = context.elements(1);
  const auto axes = context.integers(3);
  Shape shape;
  if (pads && (axes || !context.has_input(3))) {
    TENON_ASSIGN(const auto borders, borders_of(*pads, axes, context.rank(0), context));
    for (size_t i = 0; i < x.size(); ++i) {
      shape.push_back(x[i] + borders.begin[i] + borders.end[i]);
      if (shape[i].is_constant() && shape[i].constant() < 0)
        return context.fail(fmt::format("axis {} would have a negative extent", i));
    }
  } else {
    for (size_t i = 0; i < x.size(); ++i) shape.push_back(context.data_dependent(kUnbounded));
  }
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Pad& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto pads, integers_of(context, 1));
  std::optional<std::vector<int64_t>> axes;
  if (context.has_input(3)) {
    TENON_ASSIGN(axes, integers_of(context, 3));
  }
  TENON_ASSIGN(const auto borders, borders_of(pads, axes, x.rank(), context));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    shape.push_back(
        saturating_add(x.extents()[i], saturating_add(borders.begin[i], borders.end[i])));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  std::vector<std::vector<int64_t>> places(extents.size());
  if (element_count(extents) > 0) {
    for (size_t i = 0; i < extents.size(); ++i) {
      TENON_ASSIGN(places[i],
                   sources(x.extents()[i], borders.begin[i], extents[i], op.fill, context));
    }
  }
  gather_places(x, places, pad_value(context).bytes(), context.make_output(0, x.type(), extents));
  return {};
}

Status infer(const CenterCropPad& op, InferContext& context) {
  auto target = context.elements(1);
  if (!target) {
    const size_t count = op.axes.empty() ? context.shape(0).size() : op.axes.size();
    target.emplace();
    for (size_t i = 0; i < count; ++i) target->push_back(context.data_dependent(kUnbounded));
  }
  TENON_ASSIGN(Shape shape, crop_pad_shape(op, context.shape(0), *target, context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const CenterCropPad& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto target, integers_of(context, 1));
  TENON_ASSIGN(const Shape shape, crop_pad_shape(op, shape_of(x), to_shape(target), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  std::vector<std::vector<int64_t>> places(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t from = x.extents()[i], to = extents[i];
    const int64_t begin = to >= from ? (to - from) / 2 : -((from - to) / 2);
    TENON_ASSIGN(places[i], sources(from, begin, to, PadFill::kConstant, context));
  }
  Tensor zero(x.type(), {});
  std::memset(zero.mutable_bytes(), 0, static_cast<size_t>(zero.byte_count()));
  gather_places(x, places, zero.bytes(), context.make_output(0, x.type(), extents));
  return {};
}

}  // namespace tenon
