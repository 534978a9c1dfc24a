// Stock plugins: proposals and detections of Mask R-CNN, whose boxes are (y1, x1, y2, x2).
#include <array>
#include <cmath>
#include <limits>

#include "network/stock_plugins.h"
#include "network/stock_selection.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

/// How corrections (dy, dx, log height, log width) change boxes.
struct Correction {
  std::vector<double> factors;  ///< Of the four.
  double last = 0;              ///< 1 of pixels: the last one belongs to the box.
  std::vector<double> most;     ///< Boxes end there: height, width.
  double largest = std::numeric_limits<double>::infinity();  ///< Of the logarithms.
};

/// Boxes and corrections [N or 1, R, 4].
Value* corrected(Emitter& e, const Correction& c, Value* boxes, Value* deltas) {
  const auto part = [&](Value* x, int64_t from) { return e.slice(x, -1, from, from + 2); };
  deltas = e.mul(deltas, reals(e, c.factors, {4}, deltas));
  Value* size = e.add(e.sub(part(boxes, 2), part(boxes, 0)), c.last);
  Value* centre = e.add(e.add(part(boxes, 0), e.mul(size, 0.5)), e.mul(part(deltas, 0), size));
  Value* grown = part(deltas, 2);
  if (std::isfinite(c.largest)) grown = e.min(grown, e.number(c.largest, e.type(grown)));
  Value* extents = e.mul(size, e.exp(grown));
  Value* low = e.sub(centre, e.mul(extents, 0.5));
  Value* high = e.add(e.add(low, extents), -c.last);
  const auto inside = [&](Value* x) {
    return e.max(e.min(x, reals(e, c.most, {2}, x)), e.number(0, e.type(x)));
  };
  return e.concat({inside(low), inside(high)}, -1);
}

/// A threshold that scores may have, where suppression takes those above only.
double reached(double threshold) {
  return std::nextafter(static_cast<float>(threshold), -std::numeric_limits<float>::infinity());
}

/// A level's cells, from the first one on at each stride, and heights and widths of their anchors.
struct AnchorLevel {
  double first = 0, stride = 1;
  std::vector<std::array<double, 2>> sizes;

  double count(const std::vector<double>& image) const {
    const auto steps = [this](double end) { return std::ceil((end - first) / stride); };
    return steps(image[0]) * steps(image[1]) * static_cast<double>(sizes.size());
  }
};

/// (y1, x1, y2, x2) of all levels' anchors, for an operand that has as many: asked first, since the
/// image's extents may be any.
std::vector<double> level_corners(Emitter& e, const std::vector<AnchorLevel>& levels,
                                  const std::vector<double>& image, Value* like) {
  double count = 0;
  for (const AnchorLevel& level : levels) count += level.count(image);
  const int64_t given = e.constant_extent(like, 1);
  if (e.ok() && static_cast<double>(given) != count)
    e.fail(user_error("an operand has {} anchors; images of image_size have {:.0f}", given, count));
  std::vector<double> corners;
  if (!e.ok()) return corners;
  for (const AnchorLevel& level : levels)
    for (double y = level.first; y < image[0]; y += level.stride)
      for (double x = level.first; x < image[1]; x += level.stride)
        for (const auto& [h, w] : level.sizes)
          corners.insert(corners.end(), {y - h / 2, x - w / 2, y + h / 2, x + w / 2});
  return corners;
}

/// [1, R, 4]
Value* anchor_constant(Emitter& e, const std::vector<double>& corners) {
  const auto count = static_cast<int64_t>(corners.size()) / 4;
  return e.constant(Tensor::of<float>(DataType::kFloat32, {1, count, 4},
                                      std::vector<float>(corners.begin(), corners.end())));
}

/// The detections of boxes that have a correction and a score for each class, [N, K, 6].
Values detections(Emitter& e, const StockFields& fields, Inputs in, const Correction& correction,
                  int64_t first_class) {
  if (!takes(e, in, 3, 3)) return {};
  const int64_t classes = fields.integer("num_classes", 0);
  Selection s;
  s.most = fields.integer("keep_topk", 0);
  s.iou = fields.real("iou_threshold", 0);
  s.score = reached(fields.real("score_threshold", 0));
  s.background = 0;
  if (classes < 2 || s.most < 1)
    e.fail(user_error("num_classes {} is at least 2, keep_topk {} at least 1", classes, s.most));
  if (!e.ok()) return {};
  Value* deltas = e.reshape(e.cast(in[0], DataType::kFloat32), {0, -1, classes, 4});
  Value* scores = e.reshape(e.cast(in[1], DataType::kFloat32), {0, -1, classes});
  Value* seen = e.slice(scores, 2, first_class, classes);
  ArgReduce best;
  best.axis = 2;
  Value* label = e.add(e.add(std::move(best), {seen}), e.integer(first_class));  // [N, R, 1]
  GatherElements pick;
  pick.axis = 2;
  Value* own = e.unsqueeze(label, {3});
  Value* delta = e.squeeze(e.add(std::move(pick), {deltas, e.concat({own, own, own, own}, 3)}),
                           {2});  // [N, R, 4]
  Value* boxes = corrected(e, correction, e.cast(in[2], DataType::kFloat32), delta);
  std::vector<int64_t> numbers(static_cast<size_t>(classes));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  Value* is_own =
      e.equal(e.reshape(e.integers(numbers), {1, classes, 1}), e.transpose(label, {0, 2, 1}));
  Value* score = e.transpose(e.reduce(ReduceFunction::kMax, seen, {2}, true), {0, 2, 1});
  Value* none = e.number(-std::numeric_limits<double>::infinity(), DataType::kFloat32);
  const Detections d = select_detections(e, s, boxes, e.where(is_own, score, none));
  if (!e.ok()) return {};
  Value* named =
      e.where(d.valid, e.cast(d.classes, DataType::kFloat32), e.number(-1, DataType::kFloat32));
  Value* rows = e.concat({d.boxes, e.unsqueeze(named, {2}), e.unsqueeze(d.scores, {2})}, 2);
  return {e.cast(rows, e.type(in[0]))};
}

}  // namespace

Values stock_proposal_layer(Emitter& e, const StockFields& fields, Inputs in) {
  constexpr std::array<double, 5> kStrides = {4, 8, 16, 32, 64};
  if (!takes(e, in, 2, 2)) return {};
  const std::vector<double> image = image_extents(e, fields, {1024, 1024});
  std::vector<AnchorLevel> levels;
  for (const double stride : kStrides) {
    levels.push_back({.stride = stride, .sizes = {}});
    for (const double ratio : {0.5, 1.0, 2.0})
      levels.back().sizes.push_back({8 * stride / std::sqrt(ratio), 8 * stride * std::sqrt(ratio)});
  }
  std::vector<double> anchors = level_corners(e, levels, image, in[1]);
  for (size_t i = 0; i < anchors.size(); ++i)  // From 0 at the first pixel to 1 at the last.
    anchors[i] = (anchors[i] - (i % 4 < 2 ? 0 : 1)) / (image[i % 2] - 1);
  if (!e.ok()) return {};
  Value* boxes = anchor_constant(e, anchors);
  Correction correction{.factors = {0.1, 0.1, 0.2, 0.2}, .most = {1, 1}};
  boxes = corrected(e, correction, boxes, e.reshape(e.cast(in[1], DataType::kFloat32), {0, -1, 4}));
  Value* scores = e.reshape(e.cast(in[0], DataType::kFloat32), {0, -1, 2});
  Selection s;
  s.most = fields.integer("keep_topk", 0);
  s.iou = fields.real("iou_threshold", 0);
  s.score = reached(0);
  const Detections d = select_proposals(e, s, fields.integer("prenms_topk", 1024), boxes,
                                        e.squeeze(e.slice(scores, 2, 1, 2), {2}));
  if (!e.ok()) return {};
  return {e.cast(d.boxes, e.type(in[0]))};
}

Values stock_detection_layer(Emitter& e, const StockFields& fields, Inputs in) {
  return detections(e, fields, in, {.factors = {0.1, 0.1, 0.2, 0.2}, .most = {1, 1}}, 0);
}

Values stock_generate_detection(Emitter& e, const StockFields& fields, Inputs in) {
  const std::vector<double> image = image_extents(e, fields, {832, 1344});
  return detections(e, fields, in,
                    {.factors = {0.1, 0.1, 0.2, 0.2},
                     .last = 1,
                     .most = {image[0] - 1, image[1] - 1},
                     .largest = std::log(1000.0 / 16)},
                    1);
}

/// Five levels, each with an operand of corrections and one of scores.
Values stock_multilevel_propose(Emitter& e, const StockFields& fields, Inputs in) {
  constexpr size_t kLevels = 5;
  if (!takes(e, in, 2 * kLevels, 2 * kLevels)) return {};
  const std::vector<double> image = image_extents(e, fields, {832, 1344});
  const Correction correction{.factors = {1, 1, 1, 1},
                              .last = 1,
                              .most = {image[0] - 1, image[1] - 1},
                              .largest = std::log(1000.0 / 16)};
  Selection s;
  s.most = fields.integer("keep_topk", 0);
  s.iou = fields.real("iou_threshold", 0);
  s.score = reached(fields.real("fg_threshold", 0));
  Values boxes, scores;
  for (size_t level = 0; level < kLevels && e.ok(); ++level) {
    const double stride = std::exp2(static_cast<double>(level) + 2), side = 8 * stride;
    const AnchorLevel cells{
        stride / 2, stride, {{side, side}, {0.7 * side, 1.4 * side}, {1.4 * side, 0.7 * side}}};
    const std::vector<double> anchors = level_corners(e, {cells}, image, in[2 * level]);
    if (!e.ok()) return {};
    Value* deltas = e.reshape(e.cast(in[2 * level], DataType::kFloat32), {0, -1, 4});
    Value* own = anchor_constant(e, anchors);
    Value* score = e.reshape(e.cast(in[2 * level + 1], DataType::kFloat32), {0, -1});
    if (!e.ok()) return {};
    const Detections d = select_proposals(e, s, fields.integer("prenms_topk", 1000),
                                          corrected(e, correction, own, deltas), score);
    boxes.push_back(d.boxes);
    scores.push_back(d.scores);
  }
  if (!e.ok()) return {};
  Values best = e.add_multiple(TopK{}, {e.concat(scores, 1), e.integers({s.most})}, 2);
  return {e.cast(picked_rows(e, e.concat(boxes, 1), best[1]), e.type(in[0]))};
}

}  // namespace tenon::network
