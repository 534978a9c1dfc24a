// Stock plugins: detection.
#include <algorithm>
#include <limits>

#include "network/stock_plugins.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// The remaining candidates after suppression, the best first.
struct Selection {
  int64_t most = 0;           ///< Boxes of an image in the result.
  double iou = 0, score = 0;  ///< Thresholds.
  int64_t background = -1;    ///< A class that is never selected.
  int64_t candidates = 0;     ///< Best of each class that are looked at; 0: all.
  bool agnostic = false;      ///< Classes suppress each other.
};

struct Detections {
  Value *count, *boxes, *scores, *classes,
      *valid;  ///< [B, 1] i32, [B, K, 4], [B, K], [B, K] i64, [B, K] bool
};

/// [B, C, N] without the class, and without those below the best `candidates` of their class.
Value* candidates(Emitter& e, const Selection& s, Value* scores) {
  const int64_t classes = e.constant_extent(scores, 1);
  if (!e.ok()) return nullptr;
  Value* none = e.number(kNone, DataType::kFloat32);
  if (s.background >= 0 && s.background < classes) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < classes; ++i) places.push_back(i);
    Value* is_background =
        e.equal(e.reshape(e.integers(places), {1, classes, 1}), e.integer(s.background));
    scores = e.where(is_background, none, scores);
  }
  const Dim extent = e.extent(scores, 2);
  if (s.candidates > 0 && extent.is_constant() && s.candidates < extent.constant()) {
    TopK op;
    Values best = e.add_multiple(std::move(op), {scores, e.integers({s.candidates})}, 2);
    Value* least = e.slice(best[0], 2, s.candidates - 1, s.candidates);
    scores = e.where(e.pointwise(PointwiseFunction::k_less, {scores, least}), none, scores);
  }
  return scores;
}

/// Scores [B, C, N] with -inf wherever suppression takes the box. `boxes` are [B, N, 4], or [B, C,
/// N, 4].
Value* suppressed(Emitter& e, const Selection& s, Value* boxes, Value* scores) {
  Value* shape = e.shape_of(scores);
  if (e.rank(boxes) == 4) {
    const int64_t number = e.constant_extent(boxes, 2);
    boxes = e.reshape(boxes, {-1, number, 4});
    scores = e.reshape(scores, {-1, 1, number});
  }
  Value* most = e.reshape(e.slice(e.shape_of(scores), 0, 2, 3), {1});
  Value* iou = e.constant(Tensor::scalar_f32(static_cast<float>(s.iou)));
  Value* least = e.constant(Tensor::scalar_f32(static_cast<float>(s.score)));
  Value* chosen = e.add(Nms{}, {boxes, scores, most, iou, least});  // [n, 3]: batch, class, box
  Value* blank = e.fill(e.shape_of(scores), Tensor::scalar_f32(kNone));
  Value* kept = e.add(ScatterNd{}, {blank, chosen, e.add(GatherNd{}, {scores, chosen})});
  return e.add(Reshape{}, {kept, shape});
}

/// The best `most` of [B, M], with -inf behind them where there are fewer.
Values best_of(Emitter& e, Value* scores, int64_t most) {
  const Dim extent = e.extent(scores, 1);
  if (!extent.is_constant() || extent.constant() < most) {
    Value* batch = e.slice(e.shape_of(scores), 0, 0, 1);
    scores = e.concat(
        {scores, e.fill(e.concat({batch, e.integers({most})}, 0), Tensor::scalar_f32(kNone))}, 1);
  }
  return e.add_multiple(TopK{}, {scores, e.integers({most})}, 2);
}

/// Boxes [B, N, 4] or [B, C, N, 4] by corners, scores [B, C, N], both f32.
Detections select(Emitter& e, const Selection& s, Value* boxes, Value* scores) {
  scores = candidates(e, s, scores);
  if (!e.ok()) return {};
  Value* labels = nullptr;
  if (s.agnostic) {
    ArgReduce op;
    op.axis = 1;
    labels = e.squeeze(e.add(std::move(op), {scores}), {1});  // [B, N]
    scores = e.reduce(ReduceFunction::kMax, scores, {1}, true);
  }
  const Dim number = e.extent(scores, 2);
  if (!number.is_constant()) {
    e.fail(unsupported("the number of boxes is dynamic; it must be constant"));
    return {};
  }
  Value* kept = suppressed(e, s, boxes, scores);
  const int64_t classes = e.constant_extent(kept, 1), count = number.constant();
  Values best = best_of(e, e.reshape(kept, {0, classes * count}), s.most);
  Detections d;
  d.valid =
      e.pointwise(PointwiseFunction::k_greater, {best[0], e.number(kNone, DataType::kFloat32)});
  // Places behind the last one stand for nothing: the first box, marked as not valid.
  Value* place = e.where(d.valid, best[1], e.integer(0));
  Value* box =
      e.rank(boxes) == 4 ? place : e.pointwise(PointwiseFunction::k_mod, {place, e.integer(count)});
  d.classes = e.div(place, e.integer(count));
  if (labels != nullptr) {
    GatherElements op;
    op.axis = 1;
    d.classes = e.add(std::move(op), {labels, box});
  }
  GatherElements pick;
  pick.axis = 1;
  Value* flat = e.rank(boxes) == 4 ? e.reshape(boxes, {0, classes * count, 4}) : boxes;
  Value* four = e.concat(
      {e.unsqueeze(box, {2}), e.unsqueeze(box, {2}), e.unsqueeze(box, {2}), e.unsqueeze(box, {2})},
      2);
  Value* zero = e.number(0, DataType::kFloat32);
  d.boxes = e.where(e.unsqueeze(d.valid, {2}), e.add(std::move(pick), {flat, four}), zero);
  d.scores = e.where(d.valid, best[0], zero);
  d.count = e.reduce(ReduceFunction::kSum, e.cast(d.valid, DataType::kInt32), {1}, true);
  return d;
}

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
  const Detections d = select(e, s, boxes, scores);
  if (!e.ok()) return {};
  return {d.count, e.cast(d.boxes, type), e.cast(d.scores, type),
          e.cast(d.classes, DataType::kInt32)};
}

Values stock_efficient_nms_onnx(Emitter& e, const StockFields&, Inputs) {
  e.fail(
      unsupported("EfficientNMS_ONNX_TRT leaves rows behind the selected boxes undefined; ONNX's "
                  "NonMaxSuppression, or addNMS, gives as many rows as boxes"));
  return {};
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
  // Pixels: the last one belongs to the box.
  if (!normalized && fields.flag("caffeSemantics", true))
    boxes = e.concat({e.slice(boxes, -1, 0, 2), e.add(e.slice(boxes, -1, 2, 4), 1)}, -1);
  Selection s;
  s.most = fields.integer("keepTopK", 100);
  s.candidates = fields.integer("topK", 0);
  s.iou = fields.real("iouThreshold", 0.5);
  s.score = fields.real("scoreThreshold", 0);
  s.background = fields.integer("backgroundLabelId", -1);
  Detections d = select(e, s, boxes, scores);
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
