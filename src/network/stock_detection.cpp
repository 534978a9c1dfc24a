// Stock plugins: suppression, and parts of images for boxes.
#include <algorithm>

#include "network/stock_plugins.h"
#include "network/stock_selection.h"
#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

/// (x, y, w, h) to (x1, y1, x2, y2).
Value* corners(Emitter& e, Value* boxes) {
  Value *centre = e.slice(boxes, -1, 0, 2), *half = e.mul(e.slice(boxes, -1, 2, 4), 0.5);
  return e.concat({e.sub(centre, half), e.add(centre, half)}, -1);
}

/// Corrections to anchors: added to corners; of centres by the anchor's size, of sizes as
/// logarithms.
Value* decoded(Emitter& e, Value* boxes, Value* anchors, bool by_centre) {
  if (e.rank(boxes) == 4) anchors = e.unsqueeze(anchors, {2});
  if (!by_centre) return e.add(boxes, anchors);
  Value *middle = e.slice(anchors, -1, 0, 2), *extents = e.slice(anchors, -1, 2, 4);
  Value* centre = e.add(middle, e.mul(e.slice(boxes, -1, 0, 2), extents));
  Value* size = e.mul(extents, e.exp(e.slice(boxes, -1, 2, 4)));
  return corners(e, e.concat({centre, size}, -1));
}

}  // namespace

Values stock_efficient_nms(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 3)) return {};
  const DataType type = e.type(in[0]);
  Value* boxes = e.cast(in[0], DataType::kFloat32);
  Value* scores = e.transpose(e.cast(in[1], DataType::kFloat32), {0, 2, 1});
  const bool by_centre = fields.integer("box_coding", 0) == 1;
  if (in.size() == 3)
    boxes = decoded(e, boxes, e.cast(in[2], DataType::kFloat32), by_centre);
  else if (by_centre)
    boxes = corners(e, boxes);
  if (e.rank(boxes) == 4) boxes = e.transpose(boxes, {0, 2, 1, 3});
  if (fields.flag("score_activation", false))
    scores = e.pointwise(PointwiseFunction::k_sigmoid, {scores});
  Selection s;
  s.most = fields.integer("max_output_boxes", 100);
  s.iou = fields.real("iou_threshold", 0.5);
  s.score = fields.real("score_threshold", 0);
  s.background = fields.integer("background_class", -1);
  s.agnostic = fields.flag("class_agnostic", false);
  if (s.agnostic && e.rank(boxes) == 4) {
    e.fail(unsupported("class_agnostic with boxes of each class"));
    return {};
  }
  const Detections d = select_detections(e, s, boxes, scores);
  if (!e.ok()) return {};
  return {d.count, e.cast(d.boxes, type), e.cast(d.scores, type),
          e.cast(d.classes, DataType::kInt32)};
}

/// As TensorFlow's combined suppression has it.
Values stock_combined_nms(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const DataType type = e.type(in[0]);
  Value* boxes = e.cast(in[0], DataType::kFloat32);  // [B, N, 1 or C, 4]
  Value* scores = e.transpose(e.cast(in[1], DataType::kFloat32), {0, 2, 1});
  const int64_t classes = e.constant_extent(scores, 1);
  if (e.rank(boxes) == 4)
    boxes =
        e.constant_extent(boxes, 2) == 1 ? e.squeeze(boxes, {2}) : e.transpose(boxes, {0, 2, 1, 3});
  if (!e.ok()) return {};
  Selection s;
  s.most = fields.integer("max_total_size", 100);
  s.each_class = fields.integer("max_output_size_per_class", 0);
  s.iou = fields.real("iou_threshold", 0.5);
  s.score = fields.real("score_threshold", 0);
  if (fields.flag("pad_per_class", false) && s.each_class > 0)
    s.most = std::min(s.most, s.each_class * classes);
  Detections d = select_detections(e, s, boxes, scores);
  if (!e.ok()) return {};
  if (fields.flag("clip_boxes", true))
    d.boxes = e.pointwise(PointwiseFunction::k_clip, {d.boxes}, 0, 1);
  return {d.count, e.cast(d.boxes, type), e.cast(d.scores, type),
          e.cast(d.classes, DataType::kInt32)};
}

/// Rows of image, class and box, image by image, the best first; behind the last one it again, and
/// -1 where there is none.
Values stock_efficient_nms_onnx(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  Value* boxes = e.cast(in[0], DataType::kFloat32);
  Value* scores = e.transpose(e.cast(in[1], DataType::kFloat32), {0, 2, 1});
  if (fields.flag("center_point_box", false)) boxes = corners(e, boxes);
  Selection s;
  s.most = fields.integer("max_output_boxes_per_class", 0);
  s.iou = fields.real("iou_threshold", 0.5);
  s.score = fields.real("score_threshold", 0);
  if (s.most < 1) e.fail(user_error("max_output_boxes_per_class {} is at least 1", s.most));
  if (!e.ok()) return {};
  const Detections d = select_detections(e, s, boxes, scores);
  if (!e.ok()) return {};
  const auto column = [&](Value* numbers) { return e.reshape(numbers, {1, -1, 1}); };
  Value* rows =
      e.concat({column(image_numbers(e, d.scores)), column(d.classes), column(d.numbers)}, 2);
  Value* valid = e.reshape(d.valid, {1, -1});
  Value* count = e.slice(e.shape_of(valid), 0, 1, 2);
  Value* places = e.where(valid, counted_ahead(e, valid), count);
  Value* packed = scattered(e, places, rows, count);
  Value* found = e.reduce(ReduceFunction::kSum, e.cast(valid, DataType::kInt64), {1}, true);
  Value* all = e.add(RangeOf{}, {e.integer(0), e.squeeze(count, {0}), e.integer(1)});
  Value* last = e.max(e.sub(found, e.integer(1)), e.integer(0));
  Value* picked = picked_rows(e, packed, e.min(e.unsqueeze(all, {0}), last));
  Value* any = e.pointwise(PointwiseFunction::k_greater, {found, e.integer(0)});
  picked = e.where(e.unsqueeze(any, {2}), picked, e.integer(-1));
  return {e.cast(e.reshape(picked, {-1, 3}), DataType::kInt32)};
}

Values stock_batched_nms(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const DataType type = e.type(in[0]);
  Value* boxes = e.cast(in[0], DataType::kFloat32);  // [B, N, 1 or C, 4]
  Value* scores = e.cast(in[1], DataType::kFloat32);
  if (e.rank(scores) == 4) scores = e.squeeze(scores, {3});
  scores = e.transpose(scores, {0, 2, 1});
  boxes =
      fields.flag("shareLocation", true) ? e.squeeze(boxes, {2}) : e.transpose(boxes, {0, 2, 1, 3});
  const bool normalized = fields.flag("isNormalized", true);
  if (!normalized && fields.flag("caffeSemantics", true)) boxes = with_far_corner(e, boxes, 1);
  Selection s;
  s.most = fields.integer("keepTopK", 100);
  s.candidates = fields.integer("topK", 0);
  s.iou = fields.real("iouThreshold", 0.5);
  s.score = fields.real("scoreThreshold", 0);
  s.background = fields.integer("backgroundLabelId", -1);
  Detections d = select_detections(e, s, boxes, scores);
  if (!e.ok()) return {};
  if (!normalized && fields.flag("caffeSemantics", true)) {
    Value* one = e.where(e.unsqueeze(d.valid, {2}), e.number(1, DataType::kFloat32),
                         e.number(0, DataType::kFloat32));
    d.boxes = e.concat({e.slice(d.boxes, -1, 0, 2), e.sub(e.slice(d.boxes, -1, 2, 4), one)}, -1);
  }
  if (normalized && fields.flag("clipBoxes", true))
    d.boxes = e.pointwise(PointwiseFunction::k_clip, {d.boxes}, 0, 1);
  Value* labels = e.where(d.valid, e.cast(d.classes, type), e.number(-1, type));
  return {d.count, e.cast(d.boxes, type), e.cast(d.scores, type), labels};
}

Values stock_roi_align(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  RoiPool op;
  op.function =
      fields.integer("mode", 1) == 0 ? RoiFunction::kAlignMax : RoiFunction::kAlignAverage;
  op.height = fields.integer("output_height", 1);
  op.width = fields.integer("output_width", 1);
  op.sampling_ratio = fields.integer("sampling_ratio", 0);
  op.spatial_scale = fields.real("spatial_scale", 1);
  op.half_pixel = fields.integer("coordinate_transformation_mode", 1) == 1;
  return {e.add(op, {in[0], in[1], e.cast(in[2], DataType::kInt64)})};
}

namespace {

/// Places along one side of boxes, from the first to the last in equal steps; of one, the middle.
Value* steps_between(Emitter& e, Value* first, Value* last, int64_t count,
                     std::vector<int64_t> extents) {
  std::vector<double> parts(static_cast<size_t>(count), 0.5);
  for (int64_t i = 0; i < count && count > 1; ++i)
    parts[static_cast<size_t>(i)] = static_cast<double>(i) / static_cast<double>(count - 1);
  Value* part = reals(e, parts, std::move(extents), first);
  return e.add(first, e.mul(e.sub(last, first), part));
}

}  // namespace

/// As TensorFlow has it: bilinear in the image, and 0 where a place lies outside.
Values stock_crop_and_resize(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const int64_t height = fields.integer("crop_height", 0), width = fields.integer("crop_width", 0);
  const int64_t boxes = e.constant_extent(in[1], 1), channels = e.constant_extent(in[0], 1);
  if (!e.ok()) return {};
  if (height < 1 || width < 1) {
    e.fail(user_error("crop_height {} and crop_width {} are at least 1", height, width));
    return {};
  }
  const auto side = [&](int64_t at) {
    return e.reshape(e.slice(in[1], 2, at, at + 1), {0, boxes, 1, 1});
  };
  Value* rows = steps_between(e, side(0), side(2), height, {height, 1});
  Value* columns = steps_between(e, side(1), side(3), width, {1, width});
  Value* shape =
      e.concat({e.slice(e.shape_of(in[1]), 0, 0, 1), e.integers({boxes, height, width})}, 0);
  const auto spread = [&](Value* places) {
    return e.reshape(e.add(Expand{}, {places, shape}), {0, boxes * height, width, 1});
  };
  Value* places = e.concat({spread(columns), spread(rows)}, 3);  // From 0 to 1 in the image.
  GridSample op;
  op.align_corners = true;
  Value* crops = e.add(std::move(op), {in[0], e.add(e.mul(places, 2), -1)});
  Value* beside = e.abs(e.add(e.mul(places, 2), -1));
  Value* inside =
      e.pointwise(PointwiseFunction::k_less_equal,
                  {e.reduce(ReduceFunction::kMax, beside, {3}, false), e.number(1, e.type(in[1]))});
  crops = e.where(e.unsqueeze(inside, {1}), crops, e.number(0, e.type(in[0])));
  return {e.transpose(e.reshape(crops, {0, channels, boxes, height, width}), {0, 2, 1, 3, 4})};
}

/// YOLOv2's head: boxes of 4 numbers, an objectness and classes, one box behind the other.
Values stock_region(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const int64_t boxes = fields.integer("num", 0), classes = fields.integer("classes", 0);
  const int64_t channels = e.constant_extent(in[0], 1), height = e.constant_extent(in[0], 2),
                width = e.constant_extent(in[0], 3);
  if (!e.ok()) return {};
  if (fields.integer("coords", 4) != 4 || fields.flag("hasSoftmaxTree", false)) {
    e.fail(unsupported("coords {} and trees of classes are not there; coords 4 without one is",
                       fields.integer("coords", 4)));
    return {};
  }
  if (boxes < 1 || classes < 1 || channels != boxes * (classes + 5)) {
    e.fail(
        user_error("{} channels are not num {} times (5 + classes {})", channels, boxes, classes));
    return {};
  }
  Value* seen = e.reshape(in[0], {0, boxes, classes + 5, height, width});
  const auto part = [&](int64_t from, int64_t to) { return e.slice(seen, 2, from, to); };
  const auto sigmoid = [&](Value* x) { return e.pointwise(PointwiseFunction::k_sigmoid, {x}); };
  Softmax softmax;
  softmax.axes = {2};
  Value* chances = e.add(std::move(softmax), {part(5, classes + 5)});
  Value* all = e.concat({sigmoid(part(0, 2)), part(2, 4), sigmoid(part(4, 5)), chances}, 2);
  return {e.reshape(all, {0, channels, height, width})};
}

}  // namespace tenon::network
