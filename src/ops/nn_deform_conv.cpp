#include <cmath>

#include "ops/nn_window.h"
#include "ops/reals.h"
#include "ops/small_gemm.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

WindowAttributes attributes_of(const DeformConv& op) {
  return {op.strides, op.dilations, op.pads_begin, op.pads_end};
}

template <class Context>
Result<Shape> deform_shape(const DeformConv& op, const Context& context,
                           const std::vector<Shape>& shapes) {
  const Fail fail(context);
  const Shape &x = shapes[0], &w = shapes[1], &offset = shapes[2];
  TENON_TRY(expect_rank(x, 4, "x", fail));
  TENON_TRY(expect_rank(w, 4, "the weights", fail));
  TENON_TRY(expect_rank(offset, 4, "the offsets", fail));
  if (op.groups < 1 || op.offset_groups < 1) return fail("numbers of groups must be positive");
  if (!w[2].is_constant() || !w[3].is_constant()) return fail("the kernel's extents must be fixed");
  if (x[1].is_constant() && x[1].constant() % op.offset_groups != 0)
    return fail("{} channels do not divide into {} offset groups", x[1].constant(),
                op.offset_groups);
  if (w[0].is_constant() && w[0].constant() % op.groups != 0)
    return fail("{} output channels do not divide into {} groups", w[0].constant(), op.groups);
  TENON_TRY(expect_equal(x[1], w[1] * op.groups, "channels of x and of the weights", fail));
  TENON_ASSIGN(const Shape spatial,
               window_output(attributes_of(op), {x[2], x[3]}, constants({w[2], w[3]}), fail));
  const Dim points = Dim(op.offset_groups) * w[2] * w[3];
  const auto check = [&](const Shape& shape, const Dim& channels) -> Status {
    TENON_TRY(expect_rank(shape, 4, "offsets and mask", fail));
    const Shape expected{x[0], channels, spatial[0], spatial[1]};
    for (int i = 0; i < 4; ++i)
      TENON_TRY(expect_equal(shape[i], expected[i], "extents of offsets or mask", fail));
    return {};
  };
  TENON_TRY(check(offset, points * 2));
  if (context.has_input(3)) {
    TENON_TRY(expect_rank(shapes[3], 1, "the bias", fail));
    TENON_TRY(expect_equal(shapes[3][0], w[0], "bias and output channels", fail));
  }
  if (context.has_input(4)) TENON_TRY(check(shapes[4], points));
  return Shape{x[0], w[0], spatial[0], spatial[1]};
}

/// Bilinear mean around (row, column), zero outside.
template <class T>
T sample(const T* image, int64_t height, int64_t width, double row, double column) {
  if (!(row > -1 && column > -1 && row < static_cast<double>(height) &&
        column < static_cast<double>(width)))
    return 0;
  const auto top = static_cast<int64_t>(std::floor(row));
  const auto left = static_cast<int64_t>(std::floor(column));
  double sum = 0;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      const int64_t y = top + i, x = left + j;
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      const double weight = (1 - std::abs(row - static_cast<double>(y))) *
                            (1 - std::abs(column - static_cast<double>(x)));
      sum += weight * image[y * width + x];
    }
  return static_cast<T>(sum);
}

/// The operands of the evaluation.
template <class T> struct Operands {
  Values<T> x, w, offset, bias, mask;
  int64_t channels, groups_channels, filters;
  Extents out;
};

/// Samples of one image: [channels * kernel, positions].
template <class T>
std::vector<T> sampled_columns(const DeformConv& op, const SlidingWindow& window,
                               const Operands<T>& o, int64_t n) {
  const int64_t kernel = element_count(window.kernel), positions = element_count(window.output);
  const int64_t height = window.input[0], width = window.input[1];
  std::vector<T> columns(static_cast<size_t>(o.channels * kernel * positions));
  for (int64_t row = 0; row < o.channels * kernel; ++row) {
    const int64_t c = row / kernel, k = row % kernel;
    const int64_t group = c / (o.channels / op.offset_groups);
    const int64_t point = (n * op.offset_groups + group) * kernel + k;
    const T* image = o.x.data() + (n * o.channels + c) * height * width;
    for (int64_t p = 0; p < positions; ++p) {
      const int64_t i = p / window.output[1], j = p % window.output[1];
      const auto y = static_cast<double>(i * window.strides[0] - window.begin[0] +
                                         k / window.kernel[1] * window.dilations[0]);
      const auto x = static_cast<double>(j * window.strides[1] - window.begin[1] +
                                         k % window.kernel[1] * window.dilations[1]);
      const T value = sample(image, height, width, y + o.offset[2 * point * positions + p],
                             x + o.offset[(2 * point + 1) * positions + p]);
      columns[row * positions + p] =
          o.mask.size() > 0 ? value * o.mask[point * positions + p] : value;
    }
  }
  return columns;
}

}  // namespace

Status infer(const DeformConv& op, InferContext& context) {
  std::vector<Shape> shapes(5);
  for (int i = 0; i < 5; ++i)
    if (context.has_input(i)) shapes[i] = context.shape(i);
  TENON_ASSIGN(Shape shape, deform_shape(op, context, shapes));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const DeformConv& op, EvalContext& context) {
  std::vector<Shape> shapes(5);
  for (int i = 0; i < 5; ++i)
    if (context.has_input(i)) shapes[i] = shape_of(context.input(i));
  TENON_ASSIGN(const Shape shape, deform_shape(op, context, shapes));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const Extents x = constants(shapes[0]), w = constants(shapes[1]);
  TENON_ASSIGN(const SlidingWindow window,
               resolve_window(attributes_of(op), {x[2], x[3]}, {w[2], w[3]}, context));
  context.set_output(
      0, with_real(context.input(0).type(), [&](auto real) {
        using T = decltype(real);
        const auto values = [&](int i) {
          return context.has_input(i) ? Values<T>(context.input(i)) : Values<T>();
        };
        const Operands<T> o{values(0), values(1), values(2),        values(3), values(4),
                            x[1],      w[1],      w[0] / op.groups, extents};
        const int64_t kernel = element_count(window.kernel),
                      positions = element_count(window.output);
        std::vector<T> y(static_cast<size_t>(element_count(extents)), T(0));
        for (int64_t i = 0; i < extents[0] * w[0] && o.bias.size() > 0; ++i)
          std::fill_n(y.begin() + i * positions, positions, o.bias[i % w[0]]);
        const int64_t depth = w[1] * kernel;
        for (int64_t n = 0; n < x[0]; ++n) {
          const std::vector<T> columns = sampled_columns(op, window, o, n);
          for (int64_t g = 0; g < op.groups; ++g)
            multiply_add(o.filters, positions, depth, o.w.data() + g * o.filters * depth, depth,
                         columns.data() + g * depth * positions, positions,
                         y.data() + (n * w[0] + g * o.filters) * positions, positions);
        }
        return tensor_of_values(context.input(0).type(), extents, y);
      }));
  return {};
}

}  // namespace tenon
