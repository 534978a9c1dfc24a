// Rearrangements of whole tensors by a fixed rule.
#include <algorithm>
#include <cstring>

#include "ops/movement.h"
#include "ops/nn_window.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Extents of an image batch after moving blocks: to pixels or to channels.
Result<Shape> blocked(const Shape& x, int64_t block, bool to_space, const Fail& fail) {
  TENON_TRY(expect_rank(x, 4, "x", fail));
  if (block < 1 || block > INT32_MAX) return fail("block size {} is not positive", block);
  const auto divide = [&](const Dim& extent, int64_t by) -> Result<Dim> {
    if (extent.is_constant() && extent.constant() % by != 0)
      return fail("extent {} is not a multiple of {}", extent.constant(), by);
    return floor_div(extent, by);
  };
  if (to_space) {
    TENON_ASSIGN(Dim channels, divide(x[1], block * block));
    return Shape{x[0], channels, x[2] * block, x[3] * block};
  }
  TENON_ASSIGN(Dim height, divide(x[2], block));
  TENON_ASSIGN(Dim width, divide(x[3], block));
  return Shape{x[0], x[1] * (block * block), height, width};
}

/// y, seen as `extents`, takes its axes from x's axes `order` of the given extents.
void permuted_copy(const Tensor& x, const Extents& x_axes, const std::vector<int>& order,
                   Tensor& y) {
  const Strides dense = row_major_strides(x_axes);
  Extents extents;
  Strides from;
  for (const int axis : order) {
    extents.push_back(x_axes[axis]);
    from.push_back(dense[axis]);
  }
  strided_copy(y.mutable_bytes(), row_major_strides(extents), x.bytes(), from, extents,
               byte_size(x.type()));
}

Status check_sequence(const ReverseSequence& op, const Shape& x, const Shape& lengths,
                      const Fail& fail) {
  if (x.size() < 2) return fail("x needs a rank of at least 2");
  TENON_ASSIGN(const int batch, resolve_axis(op.batch_axis, static_cast<int>(x.size()), fail));
  TENON_ASSIGN(const int time, resolve_axis(op.time_axis, static_cast<int>(x.size()), fail));
  if (batch + time != 1) return fail("batch and time axes must be 0 and 1");
  TENON_TRY(expect_rank(lengths, 1, "the lengths", fail));
  return expect_equal(lengths[0], x[batch], "number of lengths and batch", fail);
}

/// Column geometry of col2im, one number a spatial axis.
struct Columns {
  Extents image, block, strides, dilations, begin, end, counts;
};

Result<Columns> columns_of(const Col2Im& op, Extents image, Extents block, const Fail& fail) {
  const size_t n = image.size();
  Columns c{std::move(image),
            std::move(block),
            or_all(op.strides, n, 1),
            or_all(op.dilations, n, 1),
            or_all(op.pads_begin, n, 0),
            or_all(op.pads_end, n, 0),
            {}};
  for (const auto* list : {&c.block, &c.strides, &c.dilations, &c.begin, &c.end})
    if (list->size() != n) return fail("{} numbers given for {} spatial axes", list->size(), n);
  for (size_t i = 0; i < n; ++i) {
    for (const int64_t value : {c.image[i], c.block[i], c.strides[i], c.dilations[i]})
      if (value < 1 || value > INT32_MAX) return fail("{} is not a valid extent or step", value);
    if (std::min(c.begin[i], c.end[i]) < 0 || std::max(c.begin[i], c.end[i]) > INT32_MAX)
      return fail("pads must not be negative");
    const int64_t room = c.image[i] + c.begin[i] + c.end[i] - c.dilations[i] * (c.block[i] - 1) - 1;
    if (room < 0) return fail("the block is larger than the padded image in axis {}", i);
    c.counts.push_back(room / c.strides[i] + 1);
  }
  return c;
}

/// Adds one column matrix [block elements, positions] of a channel to its image.
template <class T> void add_columns(const T* columns, const Columns& c, T* image) {
  const Strides strides = row_major_strides(c.image);
  Extents element(c.block.size(), 0);
  do {
    Extents position(c.counts.size(), 0);
    do {
      int64_t offset = 0;
      bool inside = true;
      for (size_t i = 0; i < element.size(); ++i) {
        const int64_t at = position[i] * c.strides[i] + element[i] * c.dilations[i] - c.begin[i];
        inside = inside && at >= 0 && at < c.image[i];
        offset += at * strides[i];
      }
      if (inside) image[offset] += *columns;
      ++columns;
    } while (advance(position, c.counts));
  } while (advance(element, c.block));
}

}  // namespace

Status infer(const DepthToSpace& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, blocked(context.shape(0), op.block, true, context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const DepthToSpace& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape shape, blocked(shape_of(x), op.block, true, context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  Tensor& y = context.make_output(0, x.type(), extents);
  const Extents& e = x.extents();
  if (op.column_row_depth)
    permuted_copy(x, {e[0], extents[1], op.block, op.block, e[2], e[3]}, {0, 1, 4, 2, 5, 3}, y);
  else
    permuted_copy(x, {e[0], op.block, op.block, extents[1], e[2], e[3]}, {0, 3, 4, 1, 5, 2}, y);
  return {};
}

Status infer(const SpaceToDepth& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, blocked(context.shape(0), op.block, false, context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const SpaceToDepth& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape shape, blocked(shape_of(x), op.block, false, context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  Tensor& y = context.make_output(0, x.type(), extents);
  permuted_copy(x, {extents[0], x.extents()[1], extents[2], op.block, extents[3], op.block},
                {0, 3, 5, 1, 2, 4}, y);
  return {};
}

Status infer(const ReverseSequence& op, InferContext& context) {
  TENON_TRY(check_sequence(op, context.shape(0), context.shape(1), context));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const ReverseSequence& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_TRY(check_sequence(op, shape_of(x), shape_of(context.input(1)), context));
  TENON_ASSIGN(const auto lengths, integers_of(context, 1));
  TENON_ASSIGN(const int time, resolve_axis(op.time_axis, x.rank(), context));
  const Extents& extents = x.extents();
  const int64_t run = count_between(extents, 2, x.rank()) * byte_size(x.type());
  Tensor& y = context.make_output(0, x.type(), extents);
  for (int64_t i = 0; i < extents[0]; ++i)
    for (int64_t j = 0; j < extents[1]; ++j) {
      const int64_t step = time == 0 ? i : j, length = lengths[time == 0 ? j : i];
      if (length < 0 || length > extents[time])
        return context.fail(fmt::format("length {} is outside [0, {}]", length, extents[time]));
      const int64_t from = step < length ? length - 1 - step : step;
      const int64_t source = time == 0 ? from * extents[1] + j : i * extents[1] + from;
      std::memcpy(y.mutable_bytes() + (i * extents[1] + j) * run, x.bytes() + source * run,
                  static_cast<size_t>(run));
    }
  return {};
}

Status infer(const Trilu&, InferContext& context) {
  if (context.rank(0) < 2) return context.fail("x needs a rank of at least 2");
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const Trilu& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2) return context.fail("x needs a rank of at least 2");
  TENON_ASSIGN(int64_t k, integer_of(context, 1, 0));
  Tensor& y = context.make_output(0, x.type(), x.extents());
  if (y.count() == 0) return {};
  const int64_t columns = x.extents().back(), height = x.extents()[x.rank() - 2];
  const int64_t rows = x.count() / columns;
  const int bytes = byte_size(x.type());
  k = std::clamp(k, -height, columns);
  std::memset(y.mutable_bytes(), 0, static_cast<size_t>(y.byte_count()));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t diagonal = row % height + k;
    const int64_t begin = op.upper ? std::clamp<int64_t>(diagonal, 0, columns) : 0;
    const int64_t end = op.upper ? columns : std::clamp<int64_t>(diagonal + 1, 0, columns);
    const int64_t at = (row * columns + begin) * bytes;
    std::memcpy(y.mutable_bytes() + at, x.bytes() + at, static_cast<size_t>((end - begin) * bytes));
  }
  return {};
}

Status infer(const Col2Im&, InferContext& context) {
  TENON_TRY(expect_rank(context.shape(0), 3, "x", context));
  const auto image = context.elements(1), block = context.elements(2);
  const Shape& x = context.shape(0);
  if (!block || !is_constant(*block) || product(*block).constant() < 1)
    return context.fail("the block shape must be known while building; make it a constant");
  Shape shape{x[0], floor_div(x[1], product(*block))};
  for (size_t i = 0; i < block->size(); ++i)
    shape.push_back(image && i < image->size() ? (*image)[i] : context.data_dependent(kUnbounded));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Col2Im& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_TRY(expect_rank(shape_of(x), 3, "x", context));
  TENON_ASSIGN(auto image, integers_of(context, 1));
  TENON_ASSIGN(auto block, integers_of(context, 2));
  TENON_ASSIGN(const Columns c, columns_of(op, std::move(image), std::move(block), context));
  const int64_t block_size = element_count(c.block), positions = element_count(c.counts);
  if (x.extents()[1] % block_size != 0 || x.extents()[2] != positions)
    return context.fail(
        fmt::format("x must be [N, C * {}, {}] for these shapes", block_size, positions));
  Extents extents{x.extents()[0], x.extents()[1] / block_size};
  extents.insert(extents.end(), c.image.begin(), c.image.end());
  TENON_ASSIGN(extents, concrete(to_shape(extents), context));
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> values(x);
    const int64_t pixels = element_count(c.image);
    std::vector<T> sums(static_cast<size_t>(element_count(extents)), T(0));
    for (int64_t i = 0; i < extents[0] * extents[1]; ++i)
      add_columns(values.data() + i * block_size * positions, c, sums.data() + i * pixels);
    return tensor_of_values(x.type(), extents, sums);
  }));
}

}  // namespace tenon
