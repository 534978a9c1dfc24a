// Stock plugins: anchors and results of SSD.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/host_memory.h"
#include "network/stock_plugins.h"
#include "network/stock_selection.h"
#include "ops/generate.h"
#include "ops/movement.h"

namespace tenon::network {
namespace {

/// Widths and heights of the anchors of one level, as parts of the image.
std::vector<std::array<double, 2>> anchor_sizes(const StockFields& fields, int64_t level,
                                                int64_t levels) {
  constexpr size_t kFirstRatios = 3;  // The finest level has fewer anchors.
  const double least = fields.real("minSize", 0.2), most = fields.real("maxSize", 0.95);
  const auto scale = [&](int64_t i) {
    return i == levels ? 1.0
                       : least + (most - least) * static_cast<double>(i) /
                                     static_cast<double>(std::max<int64_t>(levels - 1, 1));
  };
  std::vector<double> ratios = fields.numbers("aspectRatios");
  std::vector<double> scales(ratios.size(), scale(level));
  if (level == 0) {
    ratios.resize(std::min(ratios.size(), kFirstRatios));
    scales = {0.1, least, least};
  } else {
    ratios.push_back(1);
    scales.push_back(std::sqrt(scale(level) * scale(level + 1)));
  }
  std::vector<std::array<double, 2>> sizes;
  for (size_t i = 0; i < ratios.size(); ++i)
    sizes.push_back({scales[i] * std::sqrt(ratios[i]), scales[i] / std::sqrt(ratios[i])});
  return sizes;
}

/// Before anchors are made: `sides` of the feature maps' extents belong to a level each.
void check_anchors(Emitter& e, const std::vector<int64_t>& extents, size_t sides,
                   const std::vector<double>& ratios) {
  constexpr double kMostCells = 1e12;  // That 64 bits can count the bytes.
  if (std::ranges::any_of(extents, [](int64_t extent) { return extent < 1; }) ||
      std::ranges::any_of(ratios, [](double ratio) { return !(ratio > 0); }))
    return e.fail(user_error("featureMapShapes are at least 1, aspectRatios above 0"));
  double cells = 0;
  for (size_t i = 0; i < extents.size(); i += sides)
    cells += static_cast<double>(extents[i]) * static_cast<double>(extents[i + sides - 1]);
  const size_t bytes_of_cell = (ratios.size() + 1) * 8 * (sizeof(double) + sizeof(float));
  if (cells > kMostCells ||
      !fits_host_memory(static_cast<int64_t>(cells * static_cast<double>(bytes_of_cell))))
    e.fail(user_error("featureMapShapes have {:.3g} cells: memory does not suffice for the anchors",
                      cells));
}

/// Corners of the anchors around the centres of a level's cells.
std::vector<double> level_anchors(const std::vector<std::array<double, 2>>& sizes, int64_t height,
                                  int64_t width) {
  std::vector<double> corners;
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      for (const auto& [w, h] : sizes) {
        const double x = (static_cast<double>(column) + 0.5) / static_cast<double>(width),
                     y = (static_cast<double>(row) + 0.5) / static_cast<double>(height);
        corners.insert(corners.end(), {x - w / 2, y - h / 2, x + w / 2, y + h / 2});
      }
  return corners;
}

enum class BoxCode { kCorner, kCentreSize, kCornerSize, kTensorFlowCentre };

/// Boxes [N, P, L, 4] by corners, of offsets from priors [N or 1, 2, P, 4]: corners and variances.
Value* decoded_boxes(Emitter& e, const StockFields& fields, Value* offsets, Value* priors) {
  const auto code = static_cast<BoxCode>(fields.integer("codeType", 1));
  const auto prior = [&](int64_t at) {
    return e.reshape(e.slice(priors, 1, at, at + 1), {0, -1, 1, 4});
  };
  const auto part = [&](Value* x, int64_t from) { return e.slice(x, -1, from, from + 2); };
  Value* anchors = prior(0);
  if (code == BoxCode::kTensorFlowCentre)  // (y, x, height, width)
    offsets = e.concat({e.slice(offsets, -1, 1, 2), e.slice(offsets, -1, 0, 1),
                        e.slice(offsets, -1, 3, 4), e.slice(offsets, -1, 2, 3)},
                       -1);
  if (code == BoxCode::kTensorFlowCentre || !fields.flag("varianceEncodedInTarget", false))
    offsets = e.mul(offsets, prior(1));
  if (code == BoxCode::kCorner) return e.add(anchors, offsets);
  Value* size = e.sub(part(anchors, 2), part(anchors, 0));
  if (code == BoxCode::kCornerSize)
    return e.add(anchors, e.mul(offsets, e.concat({size, size}, -1)));
  Value* centre =
      e.add(e.mul(e.add(part(anchors, 0), part(anchors, 2)), 0.5), e.mul(part(offsets, 0), size));
  Value* half = e.mul(e.mul(e.exp(part(offsets, 2)), size), 0.5);
  return e.concat({e.sub(centre, half), e.add(centre, half)}, -1);
}

/// The numbers of the operands for boxes, scores and priors.
std::vector<int64_t> operand_order(Emitter& e, const StockFields& fields) {
  std::vector<int64_t> order = fields.integers("inputOrder");
  if (order.empty()) order = {0, 1, 2};
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  if (sorted != std::vector<int64_t>{0, 1, 2})
    e.fail(user_error("inputOrder holds 0, 1 and 2, each once"));
  return order;
}

/// Rows of image, class, score and box, [N, K, 7].
Value* detection_rows(Emitter& e, const Detections& d) {
  const DataType type = DataType::kFloat32;
  Value* shape = e.shape_of(d.scores);
  Value* images = e.squeeze(e.slice(shape, 0, 0, 1), {0});
  Value* numbers = e.add(RangeOf{}, {e.integer(0), images, e.integer(1)});
  Value* image = e.add(Expand{}, {e.unsqueeze(e.cast(numbers, type), {1}), shape});
  Value* label = e.where(d.valid, e.cast(d.classes, type), e.number(-1, type));
  Value* boxes = e.pointwise(PointwiseFunction::k_clip, {d.boxes}, 0, 1);
  return e.concat(
      {e.unsqueeze(image, {2}), e.unsqueeze(label, {2}), e.unsqueeze(d.scores, {2}), boxes}, 2);
}

}  // namespace

/// An output a level, [B, 2, anchors * 4, 1]: corners, then variances. An operand only tells B.
Values stock_grid_anchor(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 0, 1)) return {};
  const int64_t levels = fields.integer("numLayers", 6);
  const std::vector<int64_t> shapes = fields.integers("featureMapShapes");
  const std::vector<double> variance = fields.numbers("variance");
  const auto count = static_cast<int64_t>(shapes.size());
  constexpr int64_t kMost = plugin::StockRow::kMostLayers;
  if (levels > kMost) e.fail(user_error("numLayers {} is {} at most", levels, kMost));
  if (levels < 1 || (count != levels && count != 2 * levels) || variance.size() != 4 ||
      fields.numbers("aspectRatios").size() < 3)
    e.fail(user_error(
        "numLayers {} needs as many featureMapShapes (it has {}; twice as many where a level is no "
        "square), 4 numbers in variance (it has {}) and at least 3 aspectRatios (it has {})",
        levels, count, variance.size(), fields.numbers("aspectRatios").size()));
  if (e.ok()) check_anchors(e, shapes, count == levels ? 1 : 2, fields.numbers("aspectRatios"));
  if (!e.ok()) return {};
  Values outputs;
  for (int64_t level = 0; level < levels; ++level) {
    const auto at = static_cast<size_t>(count == levels ? level : 2 * level);
    std::vector<double> numbers = level_anchors(anchor_sizes(fields, level, levels), shapes[at],
                                                shapes[count == levels ? at : at + 1]);
    const size_t corners = numbers.size();
    for (size_t i = 0; i < corners; ++i) numbers.push_back(variance[i % 4]);
    const auto extent = static_cast<int64_t>(corners);
    Value* anchors = e.constant(Tensor::of<float>(
        DataType::kFloat32, {1, 2, extent, 1}, std::vector<float>(numbers.begin(), numbers.end())));
    if (in.size() == 1)
      anchors =
          e.add(Expand{},
                {anchors,
                 e.concat({e.slice(e.shape_of(in[0]), 0, 0, 1), e.integers({2, extent, 1})}, 0)});
    outputs.push_back(in.empty() ? e.add(Identity{}, {anchors}) : anchors);
  }
  return outputs;
}

/// DetectionOutput of SSD: offsets decoded by priors, then the best boxes of all classes.
Values stock_nms(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  const std::vector<int64_t> order = operand_order(e, fields);
  const int64_t classes = fields.integer("numClasses", 0), code = fields.integer("codeType", 1);
  if (classes < 1 || code < 0 || code > 3)
    e.fail(user_error("numClasses {} is at least 1, codeType {} from 0 to 3", classes, code));
  if (!e.ok()) return {};
  const auto operand = [&](size_t i) {
    return e.cast(in[static_cast<size_t>(order[i])], DataType::kFloat32);
  };
  const DataType type = e.type(in[static_cast<size_t>(order[0])]);
  const bool shared = fields.flag("shareLocation", true);
  Value* offsets = e.reshape(operand(0), {0, -1, shared ? 1 : classes, 4});
  Value* priors = e.reshape(operand(2), {0, 2, -1, 4});
  if (fields.flag("isBatchAgnostic", true)) priors = e.slice(priors, 0, 0, 1);
  Value* boxes = decoded_boxes(e, fields, offsets, priors);
  boxes = shared ? e.squeeze(boxes, {2}) : e.transpose(boxes, {0, 2, 1, 3});
  Value* scores = e.reshape(operand(1), {0, -1, classes});
  if (fields.flag("confSigmoid", false))
    scores = e.pointwise(PointwiseFunction::k_sigmoid, {scores});
  const double last = fields.flag("isNormalized", true) ? 0 : 1;
  if (last != 0) boxes = with_far_corner(e, boxes, last);
  Selection s;
  s.most = fields.integer("keepTopK", 0);
  s.candidates = fields.integer("topK", 0);
  s.iou = fields.real("nmsThreshold", 0);
  s.score = fields.real("confidenceThreshold", 0);
  s.background = fields.integer("backgroundLabelId", -1);
  if (s.most < 1) e.fail(user_error("keepTopK {} is at least 1", s.most));
  if (!e.ok()) return {};
  Detections d = select_detections(e, s, boxes, e.transpose(scores, {0, 2, 1}));
  if (!e.ok()) return {};
  if (last != 0) d.boxes = with_far_corner(e, d.boxes, -last);
  return {e.cast(e.unsqueeze(detection_rows(e, d), {1}), type), e.unsqueeze(d.count, {2, 3})};
}

}  // namespace tenon::network
