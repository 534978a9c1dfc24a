// Stock plugins: proposals of Faster R-CNN, whose boxes are (x1, y1, x2, y2).
#include <array>
#include <cmath>
#include <limits>

#include "network/stock_selection.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

/// Anchors around the cells of a feature map, in pixels of the image.
struct CellAnchors {
  double first = 0, stride = 1;                ///< Of the cells' centres.
  std::vector<std::array<double, 2>> sizes{};  ///< Width and height.
};

/// A score behind all others, of a box that is still one.
constexpr float kLast = std::numeric_limits<float>::lowest();

/// Centres and sizes [1, R, 4], anchor by anchor, as scores [N, A, H, W] have them.
Value* anchors_of(Emitter& e, const CellAnchors& cells, int64_t height, int64_t width) {
  std::vector<float> numbers;
  for (const auto& [w, h] : cells.sizes)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column)
        for (const double number : {cells.first + static_cast<double>(column) * cells.stride,
                                    cells.first + static_cast<double>(row) * cells.stride, w, h})
          numbers.push_back(static_cast<float>(number));
  const auto count = static_cast<int64_t>(numbers.size()) / 4;
  return e.constant(Tensor::of<float>(DataType::kFloat32, {1, count, 4}, numbers));
}

/// Boxes [N, R, 4] of corrections [N, 4 A, H, W] to the anchors, between 0 and `most` [.., 2].
Value* region_boxes(Emitter& e, const CellAnchors& cells, Value* deltas, Value* most) {
  const auto count = static_cast<int64_t>(cells.sizes.size());
  const int64_t height = e.constant_extent(deltas, 2), width = e.constant_extent(deltas, 3);
  if (e.constant_extent(deltas, 1) != 4 * count)
    e.fail(user_error("there are {} anchors a cell, and the corrections have {} channels", count,
                      e.constant_extent(deltas, 1)));
  if (!e.ok()) return nullptr;
  const auto part = [&](Value* x, int64_t from) { return e.slice(x, -1, from, from + 2); };
  Value* anchors = anchors_of(e, cells, height, width);
  Value* shaped = e.reshape(e.cast(deltas, DataType::kFloat32), {0, count, 4, height, width});
  Value* delta = e.reshape(e.transpose(shaped, {0, 1, 3, 4, 2}), {0, count * height * width, 4});
  Value* centre = e.add(part(anchors, 0), e.mul(part(delta, 0), part(anchors, 2)));
  Value* half = e.mul(e.mul(e.exp(part(delta, 2)), part(anchors, 2)), 0.5);
  const auto inside = [&](Value* x) {
    return e.min(e.max(x, e.number(0, DataType::kFloat32)), most);
  };
  return e.concat({inside(e.sub(centre, half)), inside(e.add(centre, half))}, -1);
}

/// Scores [N, R] of boxes with a side of less than `least` [.., 1] are put last. TensorRT has these
/// boxes behind the others, too, where the result has room for them.
Value* small_ones_last(Emitter& e, Value* boxes, Value* scores, PointwiseFunction is_small,
                       Value* least) {
  Value* sides = e.sub(e.slice(boxes, -1, 2, 4), e.slice(boxes, -1, 0, 2));
  Value* shorter = e.reduce(ReduceFunction::kMin, sides, {-1}, false);
  return e.where(e.pointwise(is_small, {shorter, least}), e.number(kLast, DataType::kFloat32),
                 scores);
}

/// The best boxes [N, K, 4] after suppression, where the last pixel belongs to a box.
Value* best_regions(Emitter& e, double iou, int64_t candidates, int64_t most, Value* boxes,
                    Value* scores) {
  Selection s;
  s.most = most;
  s.iou = iou;
  s.score = -std::numeric_limits<double>::infinity();
  const Detections d = select_proposals(e, s, candidates, with_far_corner(e, boxes, 1), scores);
  if (!e.ok()) return nullptr;
  Value* last = e.cast(e.unsqueeze(d.valid, {2}), DataType::kFloat32);
  return e.concat({e.slice(d.boxes, -1, 0, 2), e.sub(e.slice(d.boxes, -1, 2, 4), last)}, -1);
}

std::vector<std::array<double, 2>> rounded_sizes(const StockFields& fields, double base) {
  std::vector<std::array<double, 2>> sizes;
  for (const double ratio : fields.numbers("anchorsRatios"))
    for (const double scale : fields.numbers("anchorsScales")) {
      const double width = std::round(std::sqrt(base * base / ratio));
      sizes.push_back({width * scale, std::round(width * ratio) * scale});
    }
  return sizes;
}

bool has_counts(const StockFields& fields) {
  const auto agrees = [&](const char* count, const char* numbers) {
    const auto size = static_cast<int64_t>(fields.numbers(numbers).size());
    return size > 0 && fields.integer(count, size) == size;
  };
  return agrees("anchorsRatioCount", "anchorsRatios") &&
         agrees("anchorsScaleCount", "anchorsScales");
}

}  // namespace

/// Scores [N, 2 A, H, W], corrections [N, 4 A, H, W], a feature map, and height, width and scale of
/// each image.
Values stock_region_proposals(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 4, 4)) return {};
  const double stride = fields.real("featureStride", 16);
  if (!has_counts(fields) || !(stride >= 1))
    e.fail(
        user_error("anchorsRatios and anchorsScales hold as many numbers as their counts say, "
                   "at least 1, and featureStride {} is at least 1",
                   stride));
  RoiPool pool;
  pool.function = RoiFunction::kPoolMax;
  pool.height = fields.integer("poolingH", 7);
  pool.width = fields.integer("poolingW", 7);
  pool.spatial_scale = fields.real("spatialScale", 1 / stride);
  const int64_t most = fields.integer("nmsMaxOut", 300);
  const CellAnchors cells{(stride - 1) / 2, stride, rounded_sizes(fields, stride)};
  const auto count = static_cast<int64_t>(cells.sizes.size());
  const int64_t channels = e.constant_extent(in[2], 1);
  if (e.ok() && e.constant_extent(in[0], 1) != 2 * count)
    e.fail(user_error("there are {} anchors a cell, and the scores have {} channels", count,
                      e.constant_extent(in[0], 1)));
  if (!e.ok()) return {};
  const auto info = [&](int64_t from, int64_t to) {
    return e.slice(e.reshape(e.cast(in[3], DataType::kFloat32), {-1, 3}), 1, from, to);
  };
  Value* extents = e.unsqueeze(e.concat({info(1, 2), info(0, 1)}, 1), {1});  // [N, 1, 2]
  Value* boxes = region_boxes(e, cells, in[1], e.add(extents, -1));
  if (!e.ok()) return {};
  Value* scores = e.slice(e.cast(in[0], DataType::kFloat32), 1, count, 2 * count);
  const int64_t number = e.constant_extent(boxes, 1);
  Value* least = e.add(e.mul(info(2, 3), fields.real("minBoxSize", stride)), -1);
  scores =
      small_ones_last(e, boxes, e.reshape(scores, {0, number}), PointwiseFunction::k_less, least);
  Value* regions = best_regions(e, fields.real("iouThreshold", 0.7),
                                fields.integer("preNmsTop", 6000), most, boxes, scores);
  if (!e.ok()) return {};
  Value* image = e.cast(e.reshape(image_numbers(e, regions), {-1, 1}), DataType::kFloat32);
  Value* rows = e.concat({image, e.reshape(regions, {-1, 4})}, 1);
  Value* pooled = e.add(pool, {in[2], e.cast(rows, e.type(in[2]))});
  return {e.cast(e.unsqueeze(regions, {1}), e.type(in[0])),
          e.reshape(pooled, {-1, most, channels, pool.height, pool.width})};
}

/// Scores [N, A, H, W] and corrections [N, 4 A, H, W]; boxes (y1, x1, y2, x2) from 0 to 1.
Values stock_proposal(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const double height = fields.real("input_height", 0), width = fields.real("input_width", 0),
               stride = fields.real("rpn_stride", 16);
  CellAnchors cells{0.5 * stride, stride};
  for (const double size : fields.numbers("anchor_sizes"))
    for (const double ratio : fields.numbers("anchor_ratios"))
      cells.sizes.push_back({size * ratio, size / ratio});
  if (height < 2 || width < 2 || cells.sizes.empty())
    e.fail(
        user_error("input_height {} and input_width {} are at least 2, and anchor_sizes and "
                   "anchor_ratios hold a number each",
                   height, width));
  if (!e.ok()) return {};
  Value* most = e.constant(Tensor::of<float>(
      DataType::kFloat32, {2},
      std::vector<float>{static_cast<float>(width - 1), static_cast<float>(height - 1)}));
  Value* boxes = region_boxes(e, cells, in[1], most);
  if (!e.ok()) return {};
  Value* scores = e.reshape(e.cast(in[0], DataType::kFloat32), {0, e.constant_extent(boxes, 1)});
  scores = small_ones_last(e, boxes, scores, PointwiseFunction::k_less_equal,
                           e.number(fields.real("roi_min_size", 1), DataType::kFloat32));
  Value* regions =
      best_regions(e, fields.real("nms_iou_threshold", 0.7), fields.integer("pre_nms_top_n", 12000),
                   fields.integer("post_nms_top_n", 300), boxes, scores);
  if (!e.ok()) return {};
  const auto side = [&](int64_t at) { return e.slice(regions, -1, at, at + 1); };
  Value* swapped = e.concat({side(1), side(0), side(3), side(2)}, -1);
  Value* parts =
      e.div(swapped, reals(e, {height - 1, width - 1, height - 1, width - 1}, {4}, swapped));
  return {e.cast(e.unsqueeze(parts, {3}), e.type(in[0]))};
}

}  // namespace tenon::network
