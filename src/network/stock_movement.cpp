// Stock plugins: activations and moves of elements.
#include <algorithm>

#include "network/stock_plugins.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {

Values stock_clip(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  return {e.pointwise(PointwiseFunction::k_clip, {in[0]}, fields.real("clipMin", 0),
                      fields.real("clipMax", 0))};
}

Values stock_leaky_relu(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  return {e.pointwise(PointwiseFunction::k_leaky_relu, {in[0]}, fields.real("negSlope", 0))};
}

Values stock_scatter_elements(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  ScatterElements op;
  op.axis = fields.integer("axis", 0);
  const std::string word = fields.text("reduction", "none");
  const auto names = enum_names(op.reduction);
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) {
    e.fail(unsupported("reduction '{}' is not there; none, add, mul, max and min are", word));
    return {};
  }
  op.reduction = static_cast<ScatterReduction>(found - names.begin());
  return {e.add(std::move(op), {in[0], e.cast(in[1], DataType::kInt64), in[2]})};
}

Values stock_scatter_nd(Emitter& e, const StockFields&, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  return {e.add(ScatterNd{}, {in[0], e.cast(in[1], DataType::kInt64), in[2]})};
}

Values stock_resize_nearest(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  Resize op;
  op.coordinates = CoordinateMode::kAsymmetric;
  op.nearest = NearestMode::kFloor;
  const auto scale = static_cast<float>(fields.real("scale", 1));
  const float scales[] = {1, 1, scale, scale};
  return {e.add(std::move(op),
                {in[0], nullptr, e.constant(Tensor::of<float>(DataType::kFloat32, {4}, scales))})};
}

Values stock_coord_conv(Emitter& e, const StockFields&, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const int64_t height = e.constant_extent(in[0], 2), width = e.constant_extent(in[0], 3);
  if (!e.ok()) return {};
  // From -1 to 1: rows, then columns.
  std::vector<float> places;
  const auto place = [](int64_t at, int64_t extent) {
    return extent > 1 ? static_cast<float>(2 * at) / static_cast<float>(extent - 1) - 1 : -1;
  };
  for (const bool columns : {false, true})
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        places.push_back(columns ? place(x, width) : place(y, height));
  Value* both = e.constant(Tensor::of<float>(DataType::kFloat32, {1, 2, height, width}, places));
  Value* shape = e.concat({e.slice(e.shape_of(in[0]), 0, 0, 1), e.integers({2, height, width})}, 0);
  return {e.concat({in[0], e.add(Expand{}, {e.cast(both, e.type(in[0])), shape})}, 1)};
}

Values stock_split(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const std::vector<int64_t> lengths = fields.integers("output_lengths");
  if (lengths.empty()) {
    e.fail(user_error("the field output_lengths is missing"));
    return {};
  }
  Split op;
  op.axis = fields.integer("axis", 0);
  const auto count = static_cast<int>(lengths.size());
  return e.add_multiple(std::move(op), {in[0], e.integers(lengths)}, count);
}

Values stock_flatten_concat(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1000)) return {};
  if (fields.integer("axis", 1) != 1 || fields.flag("ignoreBatch", false)) {
    e.fail(unsupported("axis {} with ignoreBatch {}; axis 1 without it is there",
                       fields.integer("axis", 1), fields.integer("ignoreBatch", 0)));
    return {};
  }
  Values rows;
  for (Value* value : in) rows.push_back(e.reshape(value, {0, -1}));
  return {e.reshape(e.concat(rows, 1), {0, -1, 1, 1})};
}

/// As YOLOv2 has it: the input's memory is seen as C/s^2 channels of s times the height and width.
Values stock_reorg(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const int64_t s = fields.integer("stride", 1);
  const int64_t channels = e.constant_extent(in[0], 1), height = e.constant_extent(in[0], 2),
                width = e.constant_extent(in[0], 3);
  if (!e.ok()) return {};
  if (s < 1 || channels % (s * s) != 0 || height % s != 0 || width % s != 0) {
    e.fail(user_error("stride {} does not divide {} channels (twice), {} rows and {} columns", s,
                      channels, height, width));
    return {};
  }
  Value* seen = e.reshape(in[0], {0, channels / (s * s), height, s, width, s});
  Value* blocks = e.transpose(seen, {0, 3, 5, 1, 2, 4});
  return {e.reshape(blocks, {0, channels * s * s, height / s, width / s})};
}

Values stock_special_slice(Emitter& e, const StockFields&, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  return {e.slice(in[0], -1, 0, 4)};
}

Values stock_pillar_scatter(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  const std::vector<int64_t> dense = fields.integers("dense_shape");
  const int64_t pillars = e.constant_extent(in[0], 1), width = e.constant_extent(in[0], 2);
  if (!e.ok()) return {};
  if (dense.size() != 2) {
    e.fail(user_error("dense_shape has {} numbers; it takes a height and a width", dense.size()));
    return {};
  }
  const int64_t cells = dense[0] * dense[1];
  // Coordinates are (batch, z, y, x); pillars behind num_pillar go to a cell of their own, which is
  // cut off.
  Value* places = e.cast(in[1], DataType::kInt64);
  Value *y = e.slice(places, 2, 2, 3), *x = e.slice(places, 2, 3, 4);  // [N, P, 1]
  Value* cell = e.add(e.mul(y, static_cast<double>(dense[1])), x);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < pillars; ++i) numbers.push_back(i);
  Value* number = e.reshape(e.integers(std::move(numbers)), {1, pillars, 1});
  Value* count = e.reshape(e.cast(in[2], DataType::kInt64), {-1, 1, 1});
  Value* valid = e.pointwise(PointwiseFunction::k_less, {number, count});
  cell = e.where(valid, cell, e.integer(cells));
  Value* batch = e.slice(e.shape_of(in[0]), 0, 0, 1);
  Value* blank =
      e.cast(e.fill(e.concat({batch, e.integers({cells + 1, width})}, 0), Tensor::scalar_f32(0)),
             e.type(in[0]));
  ScatterElements op;
  op.axis = 1;
  Value* scattered =
      e.add(std::move(op), {blank, e.add(Expand{}, {cell, e.shape_of(in[0])}), in[0]});
  Value* image = e.transpose(e.slice(scattered, 1, 0, cells), {0, 2, 1});
  return {e.reshape(image, {0, width, dense[0], dense[1]})};
}

}  // namespace tenon::network
