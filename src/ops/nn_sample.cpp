// Sampling at the points of a grid.
#include <algorithm>
#include <cmath>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

Result<Shape> sampled_shape(const Shape& x, const Shape& grid, const Fail& fail) {
  if (x.size() < 3) return fail("x needs a rank of at least 3: [N,C,...]");
  TENON_TRY(expect_rank(grid, static_cast<int>(x.size()), "the grid", fail));
  TENON_TRY(expect_equal(grid.back(), static_cast<int64_t>(x.size()) - 2,
                         "coordinates of a point and spatial axes", fail));
  TENON_TRY(expect_equal(grid[0], x[0], "batches of x and grid", fail));
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return shape;
}

double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  double distance = std::fmod(std::abs(at - low), 2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

/// Elements of one axis that a point mixes; index -1 reads as zero.
struct AxisTaps {
  int count = 0;
  int64_t index[4];
  double weight[4];
};

int64_t padded_index(const GridSample& op, int64_t index, int64_t extent) {
  if (index >= 0 && index < extent) return index;
  if (op.padding == GridPadding::kZeros) return -1;
  if (op.padding == GridPadding::kBorder) return std::clamp<int64_t>(index, 0, extent - 1);
  const double half = op.align_corners ? 0.0 : 0.5;
  const double at =
      reflected(static_cast<double>(index), -half, static_cast<double>(extent - 1) + half);
  return std::clamp<int64_t>(static_cast<int64_t>(at), 0, extent - 1);
}

double cubic(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
}

AxisTaps axis_taps(const GridSample& op, double normalized, int64_t extent) {
  const auto length = static_cast<double>(extent);
  double at =
      op.align_corners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
  const double half = op.align_corners ? 0.0 : 0.5;
  if (!(std::abs(at) < 1e15)) at = -1e9;
  if (op.mode == ResizeMode::kNearest) at = std::nearbyint(at);
  if (at < -half || at > length - 1 + half) {
    // The taps of a cubic are moved to the border one by one, as in PyTorch and ONNX Runtime.
    if (op.padding == GridPadding::kBorder && op.mode != ResizeMode::kCubic)
      at = std::clamp(at, 0.0, length - 1);
    if (op.padding == GridPadding::kReflection) at = reflected(at, -half, length - 1 + half);
  }
  AxisTaps taps;
  const double left = std::floor(at);
  const auto place = static_cast<int64_t>(left);
  if (op.mode == ResizeMode::kNearest) {
    taps = {1, {padded_index(op, place, extent)}, {1.0}};
  } else if (op.mode == ResizeMode::kLinear) {
    taps = {2,
            {padded_index(op, place, extent), padded_index(op, place + 1, extent)},
            {1 - (at - left), at - left}};
  } else {
    taps.count = 4;
    for (int i = 0; i < 4; ++i) {
      taps.index[i] = padded_index(op, place + i - 1, extent);
      taps.weight[i] = cubic(at - left - (i - 1));
    }
  }
  return taps;
}

/// Offsets and weights of the elements that one point mixes.
void point_taps(const std::vector<AxisTaps>& axes, const Strides& strides,
                std::vector<std::pair<int64_t, double>>& taps) {
  taps.assign(1, {0, 1.0});
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<std::pair<int64_t, double>> next;
    for (const auto& [offset, weight] : taps)
      for (int i = 0; i < axes[a].count; ++i)
        if (axes[a].index[i] >= 0)
          next.emplace_back(offset + axes[a].index[i] * strides[a], weight * axes[a].weight[i]);
    taps = std::move(next);
  }
}

Result<Shape> affine_shape(const Shape& theta, const std::vector<Dim>& size, const Fail& fail) {
  const size_t axes = size.size() - 2;
  if (size.size() != 4 && size.size() != 5) return fail("the size needs 4 or 5 extents: [N,C,...]");
  TENON_TRY(expect_rank(theta, 3, "theta", fail));
  TENON_TRY(expect_equal(theta[0], size[0], "batches of theta and size", fail));
  TENON_TRY(expect_equal(theta[1], static_cast<int64_t>(axes), "rows of theta", fail));
  TENON_TRY(expect_equal(theta[2], static_cast<int64_t>(axes) + 1, "columns of theta", fail));
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(static_cast<int64_t>(axes));
  return shape;
}

}  // namespace

Status infer(const GridSample&, InferContext& context) {
  TENON_ASSIGN(Shape shape, sampled_shape(context.shape(0), context.shape(1), context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const GridSample& op, EvalContext& context) {
  const Tensor &x = context.input(0), &grid = context.input(1);
  TENON_ASSIGN(const Shape shape, sampled_shape(shape_of(x), shape_of(grid), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const Extents spatial(x.extents().begin() + 2, x.extents().end());
  const Strides strides = row_major_strides(spatial);
  const int64_t pixels = element_count(spatial), channels = extents[1];
  if (pixels == 0 && element_count(extents) > 0) return context.fail("x has no pixels");
  const int64_t points = count_between(extents, 2, x.rank());
  const size_t axes = spatial.size();
  const Values<double> places(grid);
  context.set_output(
      0, with_real(x.type(), [&](auto real) {
        using T = decltype(real);
        const Values<T> values(x);
        std::vector<T> y(static_cast<size_t>(element_count(extents)));
        std::vector<AxisTaps> taps(axes);
        std::vector<std::pair<int64_t, double>> mixed;
        for (int64_t p = 0; p < extents[0] * points && channels > 0; ++p) {
          // Points are given as (x, y, ...): the last axis first.
          for (size_t a = 0; a < axes; ++a)
            taps[a] = axis_taps(
                op, places[p * static_cast<int64_t>(axes) + static_cast<int64_t>(axes - 1 - a)],
                spatial[a]);
          point_taps(taps, strides, mixed);
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t image = p / points * channels + c;
            double sum = 0;
            for (const auto& [offset, weight] : mixed)
              sum += weight * values[image * pixels + offset];
            y[image * points + p % points] = static_cast<T>(sum);
          }
        }
        return tensor_of_values(x.type(), extents, y);
      }));
  return {};
}

Status infer(const AffineGrid&, InferContext& context) {
  const Shape& theta = context.shape(0);
  TENON_TRY(expect_rank(theta, 3, "theta", context));
  auto size = context.elements(1);
  if (!size) {
    if (!theta[1].is_constant() || (theta[1].constant() != 2 && theta[1].constant() != 3))
      return context.fail("theta must have the shape [N,2,3] or [N,3,4]");
    size = Shape{theta[0], 1};
    for (int64_t i = 0; i < theta[1].constant(); ++i)
      size->push_back(context.data_dependent(kUnbounded));
  }
  TENON_ASSIGN(Shape shape, affine_shape(theta, *size, context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const AffineGrid& op, EvalContext& context) {
  const Tensor& theta = context.input(0);
  TENON_ASSIGN(const auto size, integers_of(context, 1));
  TENON_ASSIGN(const Shape shape, affine_shape(shape_of(theta), to_shape(size), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const int64_t axes = extents.back();
  const Values<double> matrix(theta);
  std::vector<double> y(static_cast<size_t>(element_count(extents)));
  Extents points(extents.begin(), extents.end() - 1), position(points.size(), 0);
  for (size_t at = 0; at < y.size(); at += static_cast<size_t>(axes)) {
    const double* rows = matrix.data() + position[0] * axes * (axes + 1);
    for (int64_t row = 0; row < axes; ++row) {
      double sum = rows[row * (axes + 1) + axes];
      for (int64_t column = 0; column < axes; ++column) {
        const size_t axis = static_cast<size_t>(axes - column);
        const auto i = static_cast<double>(position[axis]), n = static_cast<double>(points[axis]);
        const double place =
            !op.align_corners ? (2 * i + 1) / n - 1 : (n > 1 ? 2 * i / (n - 1) - 1 : 0);
        sum += rows[row * (axes + 1) + column] * place;
      }
      y[at + static_cast<size_t>(row)] = sum;
    }
    advance(position, points);
  }
  return context.finish(tensor_of_values(theta.type(), extents, y));
}

}  // namespace tenon
