// Stock plugins: pillars of points, and boxes in space, as PointPillars has them. TensorRT leaves
// the order of pillars, of points in one and of boxes open; here it is that of the cells and the
// input.
#include <cmath>
#include <numbers>

#include "network/stock_selection.h"
#include "ops/generate.h"
#include "ops/movement.h"

namespace tenon::network {
namespace {

constexpr size_t kSides = 3;  // x, y, z

/// The smallest and the largest x, y and z of points.
std::vector<double> point_range(Emitter& e, const StockFields& fields) {
  std::vector<double> range = fields.numbers("point_cloud_range");
  const bool fits = range.size() == 2 * kSides && range[0] < range[3] && range[1] < range[4] &&
                    range[2] < range[5];
  if (!fits)
    e.fail(user_error("point_cloud_range holds the smallest x, y and z, then larger ones"));
  return range;
}

/// Seven numbers of each anchor, [1, H W A, 7]: place, sides, angle.
Value* pillar_anchors(Emitter& e, const StockFields& fields, const std::vector<double>& range,
                      int64_t height, int64_t width) {
  const std::vector<double> sides = fields.numbers("anchors"),
                            bottoms = fields.numbers("anchor_bottom_height");
  const auto place = [](double from, double to, int64_t at, int64_t count) {
    return from + static_cast<double>(at) * (to - from) / static_cast<double>(count - 1);
  };
  std::vector<float> numbers;
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      for (size_t i = 0; i < sides.size(); i += 4)
        for (const double number :
             {place(range[0], range[3], column, width), place(range[1], range[4], row, height),
              sides[i + 2] / 2 + bottoms[i / 8], sides[i], sides[i + 1], sides[i + 2],
              sides[i + 3]})
          numbers.push_back(static_cast<float>(number));
  const auto count = static_cast<int64_t>(numbers.size()) / 7;
  return e.constant(Tensor::of<float>(DataType::kFloat32, {1, count, 7}, numbers));
}

/// Angles [N, R, 1] in the half of the circle that the direction's scores [N, R, 2] say.
Value* directed(Emitter& e, const StockFields& fields, Value* angle, Value* scores) {
  const double period = 2 * std::numbers::pi / fields.real("num_dir_bins", 2),
               offset = fields.real("dir_offset", 0);
  Value* beyond = e.add(angle, -offset);
  Value* turns =
      e.pointwise(PointwiseFunction::k_floor,
                  {e.add(e.mul(beyond, 1 / period), fields.real("dir_limit_offset", 0))});
  Value* first = e.pointwise(PointwiseFunction::k_greater,
                             {e.slice(scores, 2, 0, 1), e.slice(scores, 2, 1, 2)});
  Value* half = e.where(first, e.number(offset, DataType::kFloat32),
                        e.number(offset + period, DataType::kFloat32));
  return e.add(e.sub(beyond, e.mul(turns, period)), half);
}

/// Boxes [N, R, 7] of corrections to anchors.
Value* boxes_in_space(Emitter& e, const StockFields& fields, Value* anchors, Value* deltas,
                      Value* directions) {
  const auto part = [&](Value* x, int64_t from, int64_t to) { return e.slice(x, 2, from, to); };
  Value* flat = part(anchors, 3, 5);
  Value* diagonal = e.sqrt(e.reduce(ReduceFunction::kSum, e.mul(flat, flat), {2}, true));
  Value* unit = e.concat({diagonal, diagonal, part(anchors, 5, 6)}, 2);
  Value* place = e.add(part(anchors, 0, 3), e.mul(part(deltas, 0, 3), unit));
  Value* sides = e.mul(e.exp(part(deltas, 3, 6)), part(anchors, 3, 6));
  Value* angle = e.add(part(deltas, 6, 7), part(anchors, 6, 7));
  return e.concat({place, sides, directed(e, fields, angle, directions)}, 2);
}

/// The grid of pillars and the limits of the results.
struct Pillars {
  int64_t columns = 0, rows = 0;               ///< Cells along x and y.
  int64_t most = 0, points = 0, features = 0;  ///< Pillars, points of each, numbers of a point.
  std::vector<double> range, size;
};

Pillars pillars_of(Emitter& e, const StockFields& fields, int64_t numbers) {
  Pillars p;
  p.range = point_range(e, fields);
  p.size = fields.numbers("voxel_size");
  p.most = fields.integer("max_voxels", 0);
  p.points = fields.integer("max_num_points_per_voxel", 0);
  p.features = fields.integer("voxel_feature_num", 0);
  if (p.size.size() != kSides || !(p.size[0] > 0 && p.size[1] > 0))
    e.fail(user_error("voxel_size holds three numbers above 0"));
  if (p.most < 1 || p.points < 1 || p.features < 1 || p.features > numbers + 6 || numbers < 3)
    e.fail(
        user_error("max_voxels {} and max_num_points_per_voxel {} are at least 1, and "
                   "voxel_feature_num {} is from 1 to {}, for points of {} numbers",
                   p.most, p.points, p.features, numbers + 6, numbers));
  if (!e.ok()) return p;
  p.columns = std::llround((p.range[3] - p.range[0]) / p.size[0]);
  p.rows = std::llround((p.range[4] - p.range[1]) / p.size[1]);
  if (p.columns < 1 || p.rows < 1)
    e.fail(user_error("voxel_size is larger than point_cloud_range"));
  return p;
}

/// The cell of each point [N, P], i64; behind the last cell for points outside, or beyond their
/// count.
Value* cells_of(Emitter& e, const Pillars& p, Value* points, Value* counts) {
  const DataType type = DataType::kFloat32;
  const int64_t number = e.constant_extent(points, 1);
  Value* place = e.slice(points, 2, 0, 3);
  const auto bounds = [&](size_t at) {
    return reals(e, {p.range[at], p.range[at + 1], p.range[at + 2]}, {3}, place);
  };
  Value* above = e.reduce(ReduceFunction::kMin, e.sub(place, bounds(0)), {2}, false);
  Value* below = e.reduce(ReduceFunction::kMin, e.sub(bounds(3), place), {2}, false);
  Value* zero = e.number(0, type);
  Value* order = e.add(RangeOf{}, {e.integer(0), e.integer(number), e.integer(1)});
  Value* given =
      e.pointwise(PointwiseFunction::k_less, {e.unsqueeze(order, {0}), e.unsqueeze(counts, {1})});
  Value* inside = e.pointwise(PointwiseFunction::k_and,
                              {e.pointwise(PointwiseFunction::k_greater_equal, {above, zero}),
                               e.pointwise(PointwiseFunction::k_greater, {below, zero})});
  const auto step = [&](int64_t side, int64_t cells) {
    const auto at = static_cast<size_t>(side);
    Value* from = e.add(e.squeeze(e.slice(place, 2, side, side + 1), {2}), -p.range[at]);
    Value* whole =
        e.pointwise(PointwiseFunction::k_floor, {e.div(from, e.number(p.size[at], type))});
    return e.min(e.cast(whole, DataType::kInt64), e.integer(cells - 1));
  };
  Value* cell = e.add(e.mul(step(1, p.rows), e.integer(p.columns)), step(0, p.columns));
  return e.where(e.pointwise(PointwiseFunction::k_and, {given, inside}), cell,
                 e.integer(p.rows * p.columns));
}

/// Points by their pillars.
struct Grouped {
  Value *points, *cell;  ///< [N, P, F], [N, P] i64: sorted by cell.
  Value *pillar, *rank;  ///< Its number and the point's in it, [N, P] i64.
  Value* begins;         ///< Whether a pillar's first point, [N, P] bool.
};

Grouped grouped(Emitter& e, const Pillars& p, Value* points, Value* cells) {
  const int64_t number = e.constant_extent(points, 1);
  Value* range = e.add(RangeOf{}, {e.integer(0), e.integer(number), e.integer(1)});
  Value* order = e.add(Expand{}, {e.unsqueeze(range, {0}), e.shape_of(cells)});
  TopK sort;
  sort.largest = false;
  // Keys are different: points of one cell stay in their order.
  Values keys = e.add_multiple(
      std::move(sort), {e.add(e.mul(cells, e.integer(number)), order), e.integers({number})}, 2);
  Grouped g{};
  g.points = picked_rows(e, points, keys[1]);
  g.cell = e.div(keys[0], e.integer(number));
  Value* before = e.sub(e.slice(g.cell, 1, 0, 1), e.integer(1));
  if (number > 1) before = e.concat({before, e.slice(g.cell, 1, 0, number - 1)}, 1);
  Value* changes = e.pointwise(PointwiseFunction::k_not, {e.equal(g.cell, before)});
  Value* is_cell = e.pointwise(PointwiseFunction::k_less, {g.cell, e.integer(p.rows * p.columns)});
  g.begins = e.pointwise(PointwiseFunction::k_and, {changes, is_cell});
  Value* seen = e.add(counted_ahead(e, g.begins), e.cast(g.begins, DataType::kInt64));
  g.pillar = e.where(is_cell, e.sub(seen, e.integer(1)), e.integer(number));
  Value* starts = scattered(e, e.where(g.begins, g.pillar, e.integer(number)),
                            e.unsqueeze(order, {2}), e.integers({number + 1}));
  Value* start = e.squeeze(picked_rows(e, starts, g.pillar), {2});
  g.rank = e.sub(order, start);
  return g;
}

/// Of `numbers` those where `chosen`, else one that scattered() drops.
Value* kept(Emitter& e, Value* chosen, Value* numbers, int64_t count) {
  return e.where(chosen, numbers, e.integer(count));
}

}  // namespace

/// Scores of classes, corrections and directions of [N, H, W, anchors]; rows of box, class and
/// score, and their number.
Values stock_decode_boxes(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  const std::vector<double> range = point_range(e, fields);
  const auto classes = static_cast<int64_t>(fields.numbers("anchor_bottom_height").size());
  const int64_t height = e.constant_extent(in[0], 1), width = e.constant_extent(in[0], 2),
                anchors = 2 * classes, rows = height * width * anchors;
  if (classes < 1 || static_cast<int64_t>(fields.numbers("anchors").size()) != 4 * anchors)
    e.fail(
        user_error("anchors holds {} numbers; it takes 8 for each of the {} numbers of "
                   "anchor_bottom_height",
                   fields.numbers("anchors").size(), classes));
  if (e.ok() && (height < 2 || width < 2))
    e.fail(user_error("the map of {} x {} cells has at least 2 x 2", height, width));
  if (!e.ok()) return {};
  const auto each = [&](size_t operand, int64_t numbers) {
    return e.reshape(e.cast(in[operand], DataType::kFloat32), {0, rows, numbers});
  };
  Value* chances = e.pointwise(PointwiseFunction::k_sigmoid, {each(0, classes)});
  Value* score = e.reduce(ReduceFunction::kMax, chances, {2}, true);
  ArgReduce best;
  best.axis = 2;
  Value* label = e.cast(e.add(std::move(best), {chances}), DataType::kFloat32);
  Value* boxes = boxes_in_space(e, fields, pillar_anchors(e, fields, range, height, width),
                                each(1, 7), each(2, 2));
  Value* valid =
      e.squeeze(e.pointwise(PointwiseFunction::k_greater_equal,
                            {score, e.number(fields.real("score_thresh", 0), DataType::kFloat32)}),
                {2});
  Value* places = kept(e, valid, counted_ahead(e, valid), rows);
  Value* packed = scattered(e, places, e.concat({boxes, label, score}, 2), e.integers({rows}));
  Value* count = e.reduce(ReduceFunction::kSum, e.cast(valid, DataType::kInt32), {1}, false);
  return {e.cast(packed, e.type(in[0])), count};
}

/// Points [N, P, numbers] and how many of them there are; pillars with their points, cells (0, 0,
/// y, x) and number. A point gets its distances from the pillar's mean and from its middle.
Values stock_make_pillars(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const int64_t numbers = e.constant_extent(in[0], 2);
  if (e.ok() && e.constant_extent(in[0], 1) < 1) e.fail(user_error("there is no point"));
  if (!e.ok()) return {};
  const Pillars p = pillars_of(e, fields, numbers);
  if (!e.ok()) return {};
  Value* points = e.cast(in[0], DataType::kFloat32);
  Value* counts = e.cast(e.reshape(in[1], {-1}), DataType::kInt64);
  const Grouped g = grouped(e, p, points, cells_of(e, p, points, counts));
  if (!e.ok()) return {};
  const auto below = [&](Value* x, int64_t limit) {
    return e.pointwise(PointwiseFunction::k_less, {x, e.integer(limit)});
  };
  const auto both = [&](Value* x, Value* y) {
    return e.pointwise(PointwiseFunction::k_and, {x, y});
  };
  const auto pillars = [&](Value* chosen, Value* updates, bool adds) {  // [N, most, 1]
    return scattered(e, kept(e, chosen, g.pillar, p.most), e.unsqueeze(updates, {2}),
                     e.integers({p.most}), adds);
  };
  Value* taken = below(g.pillar, p.most);
  Value* fits = both(both(taken, below(g.rank, p.points)), below(g.cell, p.rows * p.columns));
  Value* first = both(taken, g.begins);
  Value* cell = pillars(first, g.cell, false);
  Value* held = pillars(fits, e.cast(fits, DataType::kInt64), true);
  Value* y = e.div(cell, e.integer(p.columns));
  Value* x = e.sub(cell, e.mul(y, e.integer(p.columns)));
  Value* none = e.mul(cell, e.integer(0));

  Value* slot = e.add(e.mul(g.pillar, e.integer(p.points)), g.rank);
  Value* filled = scattered(e, kept(e, fits, slot, p.most * p.points), g.points,
                            e.integers({p.most * p.points}));
  Value* by_pillar = e.reshape(filled, {0, p.most, p.points, numbers});
  Value* place = e.slice(by_pillar, 3, 0, 3);
  Value* sum = e.reduce(ReduceFunction::kSum, place, {2}, true);
  Value* size = e.cast(e.max(held, e.integer(1)), DataType::kFloat32);
  Value* mean = e.div(sum, e.unsqueeze(size, {3}));
  const auto middle = [&](Value* at, size_t side) {
    return e.add(e.mul(e.cast(at, DataType::kFloat32), p.size[side]),
                 p.range[side] + p.size[side] / 2);
  };
  Value* centre = e.unsqueeze(e.concat({middle(x, 0), middle(y, 1), middle(none, 2)}, 2), {2});
  Value* all = e.concat({by_pillar, e.sub(place, mean), e.sub(place, centre)}, 3);
  std::vector<int64_t> ranks(static_cast<size_t>(p.points));
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int64_t>(i);
  Value* is_point = e.pointwise(PointwiseFunction::k_less, {e.integers(ranks), held});
  Value* features = e.where(e.unsqueeze(is_point, {3}), e.slice(all, 3, 0, p.features),
                            e.number(0, DataType::kFloat32));
  Value* found = e.reduce(ReduceFunction::kSum, e.cast(g.begins, DataType::kInt32), {1}, false);
  Value* limit = e.cast(e.integer(p.most), DataType::kInt32);
  return {e.cast(features, e.type(in[0])),
          e.cast(e.concat({none, none, y, x}, 2), DataType::kInt32), e.min(found, limit)};
}

}  // namespace tenon::network
