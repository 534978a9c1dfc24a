#include <algorithm>
#include <cmath>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

Result<Shape> roi_shape(const RoiPool& op, const Shape& x, const Shape& rois, const Fail& fail) {
  TENON_TRY(expect_rank(x, 4, "x", fail));
  TENON_TRY(expect_rank(rois, 2, "the regions", fail));
  const int64_t columns = op.function == RoiFunction::kPoolMax ? 5 : 4;
  TENON_TRY(expect_equal(rois[1], columns, "numbers of a region", fail));
  if (op.height < 1 || op.width < 1) return fail("the pooled extents must be positive");
  return Shape{rois[0], x[1], op.height, op.width};
}

/// A region in places of x: start, size of a bin, samples of a bin along one axis.
struct RoiAxis {
  double start = 0, bin = 0;
  int64_t samples = 0, extent = 0;
};

RoiAxis roi_axis(const RoiPool& op, double from, double to, int64_t bins, int64_t extent) {
  const double shift = op.half_pixel ? 0.5 : 0.0;
  RoiAxis axis{from * op.spatial_scale - shift, 0, 0, extent};
  double length = to * op.spatial_scale - shift - axis.start;
  if (!op.half_pixel) length = std::max(length, 1.0);
  axis.bin = length / static_cast<double>(bins);
  const double samples =
      op.sampling_ratio > 0 ? static_cast<double>(op.sampling_ratio) : std::ceil(axis.bin);
  axis.samples = static_cast<int64_t>(std::clamp(samples == samples ? samples : 0.0, 0.0, 4096.0));
  return axis;
}

/// Two neighbours of a place and their weights; both weights 0 outside.
struct Pair {
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

Pair pair_at(const RoiAxis& axis, int64_t bin, int64_t sample, bool& inside) {
  double at = axis.start + static_cast<double>(bin) * axis.bin +
              (static_cast<double>(sample) + 0.5) * axis.bin / static_cast<double>(axis.samples);
  if (!(at >= -1 && at <= static_cast<double>(axis.extent))) {
    inside = false;
    return {};
  }
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= axis.extent - 1) return {axis.extent - 1, axis.extent - 1, 1, 0};
  return {low, low + 1, 1 - (at - static_cast<double>(low)), at - static_cast<double>(low)};
}

/// One bin of a region of one channel.
template <class T>
double align_bin(const RoiPool& op, const T* image, int64_t width, const RoiAxis& rows,
                 const RoiAxis& columns, int64_t row_bin, int64_t column_bin) {
  double sum = 0, top = 0;
  bool first = true;
  for (int64_t i = 0; i < rows.samples; ++i)
    for (int64_t j = 0; j < columns.samples; ++j) {
      bool inside = true;
      const Pair y = pair_at(rows, row_bin, i, inside);
      const Pair x = pair_at(columns, column_bin, j, inside);
      double parts[4] = {0, 0, 0, 0};
      if (inside) {
        parts[0] = y.low_weight * x.low_weight * image[y.low * width + x.low];
        parts[1] = y.low_weight * x.high_weight * image[y.low * width + x.high];
        parts[2] = y.high_weight * x.low_weight * image[y.high * width + x.low];
        parts[3] = y.high_weight * x.high_weight * image[y.high * width + x.high];
      }
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      const double largest = *std::max_element(parts, parts + 4);
      top = first ? largest : std::max(top, largest);
      first = false;
    }
  if (op.function == RoiFunction::kAlignMax) return top;
  return sum / static_cast<double>(std::max<int64_t>(rows.samples * columns.samples, 1));
}

/// [begin, end) of a bin of max pooling, clipped to the image.
std::pair<int64_t, int64_t> max_bin(const RoiPool& op, double from, double to, int64_t bin,
                                    int64_t bins, int64_t extent) {
  const double start = std::round(std::clamp(from * op.spatial_scale, -1e9, 1e9));
  const double end = std::round(std::clamp(to * op.spatial_scale, -1e9, 1e9));
  const double size = std::max(end - start + 1, 1.0) / static_cast<double>(bins);
  const double begin = std::floor(static_cast<double>(bin) * size) + start;
  const double stop = std::ceil(static_cast<double>(bin + 1) * size) + start;
  const auto limit = static_cast<double>(extent);
  return {static_cast<int64_t>(std::clamp(begin, 0.0, limit)),
          static_cast<int64_t>(std::clamp(stop, 0.0, limit))};
}

template <class T>
double largest_in(const T* image, int64_t width, std::pair<int64_t, int64_t> rows,
                  std::pair<int64_t, int64_t> columns) {
  if (rows.first >= rows.second || columns.first >= columns.second) return 0;
  double top = image[rows.first * width + columns.first];
  for (int64_t i = rows.first; i < rows.second; ++i)
    for (int64_t j = columns.first; j < columns.second; ++j)
      top = std::max(top, static_cast<double>(image[i * width + j]));
  return top;
}

/// Which image each region lies in.
Result<std::vector<int64_t>> images_of(const RoiPool& op, const EvalContext& context,
                                       const Values<double>& rois) {
  const int64_t count = context.input(1).extents()[0], batch = context.input(0).extents()[0];
  std::vector<int64_t> images(static_cast<size_t>(count), 0);
  if (op.function == RoiFunction::kPoolMax) {
    for (int64_t n = 0; n < count; ++n) images[n] = saturate_to<int64_t>(rois[n * 5]);
  } else if (context.has_input(2)) {
    TENON_ASSIGN(images, integers_of(context, 2));
  }
  if (static_cast<int64_t>(images.size()) != count)
    return context.fail(fmt::format("{} batch indices for {} regions", images.size(), count));
  for (const int64_t image : images)
    if (image < 0 || image >= batch)
      return context.fail(fmt::format("batch index {} is outside [0, {})", image, batch));
  return images;
}

template <class T>
std::vector<T> pool_regions(const RoiPool& op, const Tensor& x, const Values<double>& rois,
                            const std::vector<int64_t>& images) {
  const int64_t channels = x.extents()[1], height = x.extents()[2], width = x.extents()[3];
  const int64_t columns = op.function == RoiFunction::kPoolMax ? 5 : 4;
  const Values<T> values(x);
  std::vector<T> y(images.size() * static_cast<size_t>(channels * op.height * op.width));
  if (height == 0 || width == 0) return y;
  int64_t at = 0;
  for (size_t n = 0; n < images.size(); ++n) {
    const double* box = rois.data() + (static_cast<int64_t>(n) + 1) * columns - 4;
    const RoiAxis rows = roi_axis(op, box[1], box[3], op.height, height);
    const RoiAxis cols = roi_axis(op, box[0], box[2], op.width, width);
    for (int64_t c = 0; c < channels; ++c) {
      const T* image = values.data() + (images[n] * channels + c) * height * width;
      for (int64_t i = 0; i < op.height; ++i)
        for (int64_t j = 0; j < op.width; ++j)
          y[at++] = static_cast<T>(
              op.function != RoiFunction::kPoolMax
                  ? align_bin(op, image, width, rows, cols, i, j)
                  : largest_in(image, width, max_bin(op, box[1], box[3], i, op.height, height),
                               max_bin(op, box[0], box[2], j, op.width, width)));
    }
  }
  return y;
}

}  // namespace

Status infer(const RoiPool& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, roi_shape(op, context.shape(0), context.shape(1), context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const RoiPool& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape shape, roi_shape(op, shape_of(x), shape_of(context.input(1)), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const Values<double> rois(context.input(1));
  TENON_ASSIGN(const auto images, images_of(op, context, rois));
  return context.finish(with_real(x.type(), [&](auto real) {
    return tensor_of_values(x.type(), extents, pool_regions<decltype(real)>(op, x, rois, images));
  }));
}

}  // namespace tenon
