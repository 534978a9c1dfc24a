#include "network/stock_selection.h"

#include <algorithm>
#include <limits>

#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

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
  Value* most = s.each_class > 0 ? e.integers({s.each_class})
                                 : e.reshape(e.slice(e.shape_of(scores), 0, 2, 3), {1});
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

}  // namespace

Value* with_far_corner(Emitter& e, Value* boxes, double moved) {
  return e.concat({e.slice(boxes, -1, 0, 2), e.add(e.slice(boxes, -1, 2, 4), moved)}, -1);
}

Value* picked_rows(Emitter& e, Value* values, Value* index) {
  const int64_t width = e.constant_extent(values, 2);
  Value* column = e.unsqueeze(index, {2});
  GatherElements pick;
  pick.axis = 1;
  return e.add(
      std::move(pick),
      {values, e.concat(Values(static_cast<size_t>(std::max<int64_t>(width, 1)), column), 2)});
}

Value* image_numbers(Emitter& e, Value* rows) {
  Value* shape = e.slice(e.shape_of(rows), 0, 0, 2);
  Value* images = e.squeeze(e.slice(shape, 0, 0, 1), {0});
  Value* range = e.add(RangeOf{}, {e.integer(0), images, e.integer(1)});
  return e.reshape(e.add(Expand{}, {e.unsqueeze(range, {1}), shape}), {-1});
}

Value* scattered(Emitter& e, Value* places, Value* updates, Value* count, bool adds) {
  Value* shape = e.shape_of(updates);
  Value* extents = e.concat(
      {e.slice(shape, 0, 0, 1), e.add(count, e.integer(1)), e.slice(shape, 0, 2, e.rank(updates))},
      0);
  Tensor zero(e.type(updates), {});
  zero.set_from_double(0, 0);
  Value* blank = e.fill(extents, std::move(zero));
  Value* images = e.unsqueeze(e.reshape_as(image_numbers(e, places), places), {2});
  ScatterNd op;
  if (adds) op.reduction = ScatterReduction::kAdd;
  Value* all = e.add(op, {blank, e.concat({images, e.unsqueeze(places, {2})}, 2), updates});
  return e.slice(all, 1, 0, -1);
}

Value* counted_ahead(Emitter& e, Value* chosen) {
  Cumulative op;
  op.exclusive = true;
  return e.add(op, {e.cast(chosen, DataType::kInt64), e.integer(1)});
}

Detections select_proposals(Emitter& e, const Selection& s, int64_t candidates, Value* boxes,
                            Value* scores) {
  const int64_t count = std::min(candidates, e.constant_extent(scores, 1));
  if (count < 1 || s.most < 1)
    e.fail(user_error("{} boxes are to be looked at and {} to be kept; both are at least 1", count,
                      s.most));
  if (!e.ok()) return {};
  Values best = e.add_multiple(TopK{}, {scores, e.integers({count})}, 2);
  return select_detections(e, s, picked_rows(e, boxes, best[1]), e.unsqueeze(best[0], {1}));
}

Detections select_detections(Emitter& e, const Selection& s, Value* boxes, Value* scores) {
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
  d.numbers = e.rank(boxes) == 4 ? e.sub(place, e.mul(d.classes, e.integer(count))) : box;
  if (labels != nullptr) {
    GatherElements op;
    op.axis = 1;
    d.classes = e.add(std::move(op), {labels, box});
  }
  Value* flat = e.rank(boxes) == 4 ? e.reshape(boxes, {0, classes * count, 4}) : boxes;
  Value* zero = e.number(0, DataType::kFloat32);
  d.boxes = e.where(e.unsqueeze(d.valid, {2}), picked_rows(e, flat, box), zero);
  d.scores = e.where(d.valid, best[0], zero);
  d.count = e.reduce(ReduceFunction::kSum, e.cast(d.valid, DataType::kInt32), {1}, true);
  return d;
}

}  // namespace tenon::network
