#include "network/composites.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/dims.h"
#include "ops/generate.h"
#include "ops/math.h"

namespace tenon::network {
namespace {

double largest_of(DataType type) {
  if (type == DataType::kFloat4E2M1) return 6;
  if (type == DataType::kFloat8E4M3) return 448;
  return type == DataType::kInt4 ? 7 : 127;
}

/// A tensor divided into blocks along several axes.
struct Tiles {
  std::vector<int64_t> whole;   ///< Its extents.
  std::vector<int64_t> split;   ///< Twice as many axes: blocks, and elements of a block.
  std::vector<int64_t> lanes;   ///< The same of a tensor with one element a block.
  std::vector<int64_t> inside;  ///< The axes of a block's elements.
};

/// `shape`: of a block, for the last axes. An error where blocks do not fit.
std::optional<Tiles> tiles_of(Emitter& e, const Value* x, std::span<const int64_t> shape) {
  Tiles tiles;
  const int64_t rank = e.rank(x), first = rank - static_cast<int64_t>(shape.size());
  for (int64_t i = 0; i < rank && e.ok(); ++i) {
    const int64_t extent = e.constant_extent(x, i);
    const int64_t asked = i < first ? 1 : shape[static_cast<size_t>(i - first)];
    const int64_t block = asked < 0 ? extent : asked;
    if (e.ok() && (block < 1 || extent % block != 0))
      e.fail(user_error("axis {} of {} does not divide into blocks of {}", i, to_string(e.shape(x)),
                        block));
    if (!e.ok()) break;
    tiles.whole.push_back(extent);
    tiles.split.insert(tiles.split.end(), {extent / block, block});
    tiles.lanes.insert(tiles.lanes.end(), {extent / block, 1});
    tiles.inside.push_back(2 * i + 1);
  }
  return e.ok() ? std::optional(std::move(tiles)) : std::nullopt;
}

/// A scale from the largest magnitudes: as it is kept, and as numbers are divided by it. `second`
/// scales the scale itself; it may be null.
struct DataScale {
  Value *stored = nullptr, *used = nullptr;
};
DataScale scale_of(Emitter& e, Value* most, Value* second, DataType to, DataType scale_type) {
  Value* factor = second == nullptr ? nullptr : e.cast(second, DataType::kFloat32);
  Value* scale = e.div(most, e.number(largest_of(to), DataType::kFloat32));
  if (factor != nullptr) scale = e.div(scale, factor);
  Value* stored = e.cast(scale, scale_type);
  Value* used = e.cast(stored, DataType::kFloat32);
  if (factor != nullptr) used = e.mul(used, factor);
  // A block of zeros has the scale zero; any other gives the same zeros.
  Value* zero = e.number(0, DataType::kFloat32);
  used = e.where(e.equal(used, zero), e.number(1, DataType::kFloat32), used);
  return {stored, used};
}

/// 1 where a key is not later than the query. Queries end where keys do, or begin there.
Value* causal_mask(Emitter& e, Value* scores, CausalMask kind) {
  const auto length = [&](int64_t axis) {
    return e.squeeze(e.slice(e.shape_of(scores), 0, axis, axis + 1), {0});
  };
  const auto positions = [&](Value* extent) {
    return e.add(RangeOf{}, {e.integer(0), extent, e.integer(1)});
  };
  Value* queries = positions(length(2));
  if (kind == CausalMask::kLowerRight) queries = e.add(queries, e.sub(length(3), length(2)));
  return e.pointwise(PointwiseFunction::k_less_equal,
                     {positions(length(3)), e.unsqueeze(queries, {1})});
}

Value* quantized_there_and_back(Emitter& e, Value* x, const AttentionParts& parts) {
  Quantize quantize;
  quantize.to = parts.quantized;
  Dequantize back;
  back.to = e.type(parts.query);
  Value* scale = e.cast(parts.scale, DataType::kFloat32);
  return e.add(back, {e.add(quantize, {x, scale}), scale});
}

Value* composed_attention(Emitter& e, const AttentionParts& parts) {
  Value* scores = e.matmul(parts.query, parts.key, false, true);
  const auto keep = [&](Value* which) {
    return e.where(which, scores, e.number(parts.normalizes ? -65504 : 0, e.type(scores)));
  };
  if (parts.mask != nullptr)
    scores = e.type(parts.mask) == DataType::kBool
                 ? keep(parts.mask)
                 : e.add(scores, e.cast(parts.mask, e.type(scores)));
  if (parts.causal != CausalMask::kNone) scores = keep(causal_mask(e, scores, parts.causal));
  if (parts.normalizes) {
    Softmax op;
    op.axes = {3};
    scores = e.add(std::move(op), {scores});
  }
  if (parts.scale != nullptr) scores = quantized_there_and_back(e, scores, parts);
  return e.matmul(scores, parts.value);
}

/// (up + beta) * gate * sigmoid(alpha * gate), clipped; or up * gate.
Value* gated(Emitter& e, const ExpertParts& parts, Value* gate, Value* up) {
  if (!parts.gates) return e.mul(gate, up);
  const auto limited = [&](Value* value, double low) {
    return std::isinf(parts.limit)
               ? value
               : e.pointwise(PointwiseFunction::k_clip, {value}, low, parts.limit);
  };
  Value* g = limited(gate, std::numeric_limits<float>::lowest());
  Value* u = limited(up, -parts.limit);
  if (parts.beta != 0) u = e.add(u, static_cast<double>(parts.beta));
  return e.mul(e.pointwise(PointwiseFunction::k_swish, {g}, parts.alpha), u);
}

}  // namespace

Value* ragged_softmax(Emitter& e, Value* x, Value* bounds) {
  const int last = e.rank(x) - 1;
  Value* extent = e.slice(e.shape_of(x), 0, last, last + 1);
  Value* end = e.squeeze(extent, {0});
  Value* position = e.add(RangeOf{}, {e.integer(0), end, e.integer(1)});
  Value* inside =
      e.pointwise(PointwiseFunction::k_less, {position, e.cast(bounds, DataType::kInt64)});
  Value* low = e.number(std::numeric_limits<float>::lowest() / 2, e.type(x));
  Softmax op;
  op.axes = {last};
  Value* y = e.add(std::move(op), {e.where(inside, x, low)});
  return e.where(inside, y, e.number(0, e.type(x)));
}

Blocks blocks_of(Emitter& e, const Value* x, const Value* scale) {
  const Shape &full = e.shape(x), &part = e.shape(scale);
  Blocks blocks;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i] == part[i]) continue;
    if (blocks.axis >= 0 || !full[i].is_constant() || !part[i].is_constant() ||
        part[i].constant() < 1 || full[i].constant() % part[i].constant() != 0)
      e.fail(user_error("a scale {} does not block an input {} along one axis", to_string(part),
                        to_string(full)));
    else
      blocks = {static_cast<int64_t>(i), full[i].constant() / part[i].constant()};
  }
  return blocks;
}

Blocks blocks_of_shape(Emitter& e, const Value* x, std::span<const int64_t> shape) {
  const auto count = static_cast<int64_t>(shape.size());
  Blocks blocks;
  for (int64_t i = 0; i < count; ++i) {
    if (shape[static_cast<size_t>(i)] == 1) continue;
    if (blocks.axis >= 0) e.fail(unsupported("blocks along more than one axis"));
    blocks = {e.rank(x) - count + i, shape[static_cast<size_t>(i)]};
  }
  if (blocks.axis >= 0 && blocks.size < 0) blocks.size = e.constant_extent(x, blocks.axis);
  if (blocks.axis < 0) e.fail(user_error("the block shape blocks no axis"));
  return blocks;
}

DynamicScales dynamic_quantize(Emitter& e, Value* x, Value* second, const Blocks& blocks,
                               DataType to, DataType scale_type) {
  const int rank = e.rank(x);
  const int64_t extent = e.ok() ? e.constant_extent(x, blocks.axis) : 1;
  if (e.ok() && (blocks.size < 1 || extent % blocks.size != 0))
    e.fail(user_error("axis {} of {} does not divide into blocks of {}", blocks.axis,
                      to_string(e.shape(x)), blocks.size));
  if (!e.ok()) return {};
  std::vector<int64_t> split;
  for (int i = 0; i < rank; ++i) {
    const Dim& dim = e.shape(x)[static_cast<size_t>(i)];
    split.push_back(i == blocks.axis    ? extent / blocks.size
                    : dim.is_constant() ? dim.constant()
                                        : 0);
    if (i == blocks.axis) split.push_back(blocks.size);
    if (i > blocks.axis && !dim.is_constant())
      e.fail(unsupported("a dynamic extent after the blocked axis: {}", to_string(e.shape(x))));
  }
  Value* reals = e.cast(x, DataType::kFloat32);
  Value* most =
      e.reduce(ReduceFunction::kMax, e.abs(e.reshape(reals, split)), {blocks.axis + 1}, false);
  const DataScale scale = scale_of(e, most, second, to, scale_type);
  Quantize op;
  op.axis = blocks.axis;
  op.block_size = blocks.size;
  op.to = to;
  return {e.add(op, {reals, scale.used}), scale.stored};
}

DynamicScales dynamic_quantize(Emitter& e, Value* x, Value* second, std::span<const int64_t> shape,
                               DataType to, DataType scale_type) {
  if (std::ranges::count_if(shape, [](int64_t extent) { return extent != 1; }) < 2)
    return dynamic_quantize(e, x, second, blocks_of_shape(e, x, shape), to, scale_type);
  const std::optional<Tiles> tiles = tiles_of(e, x, shape);
  if (!tiles.has_value()) return {};
  Value* parts = e.reshape(e.cast(x, DataType::kFloat32), tiles->split);
  Value* most = e.reduce(ReduceFunction::kMax, e.abs(parts), tiles->inside, false);
  const DataScale scale = scale_of(e, most, second, to, scale_type);
  Value* scaled = e.div(parts, e.reshape(scale.used, tiles->lanes));
  Quantize op;
  op.to = to;
  return {e.add(op, {e.reshape(scaled, tiles->whole), e.number(1, DataType::kFloat32)}),
          scale.stored};
}

Value* whole_scale(Emitter& e, const Value* x, Value* scale) {
  const Shape &full = e.shape(x), &part = e.shape(scale);
  int64_t blocked = 0;
  std::vector<int64_t> shape;
  for (size_t i = 0; i < full.size(); ++i) {
    const bool differs = full[i] != part[i];
    const bool divides = full[i].is_constant() && part[i].is_constant() && part[i].constant() > 0 &&
                         full[i].constant() % part[i].constant() == 0;
    if (differs && !divides) return scale;
    shape.push_back(differs ? full[i].constant() / part[i].constant() : 1);
    blocked += differs ? 1 : 0;
  }
  if (blocked < 2) return scale;
  const std::optional<Tiles> tiles = tiles_of(e, x, shape);
  if (!tiles.has_value()) return scale;
  Extents inside;
  for (const int64_t extent : shape) inside.insert(inside.end(), {1, extent});
  const std::vector<float> ones(static_cast<size_t>(element_count(inside)), 1.0F);
  Value* spread = e.mul(e.reshape(e.cast(scale, DataType::kFloat32), tiles->lanes),
                        e.constant(Tensor::of<float>(DataType::kFloat32, inside, ones)));
  return e.reshape(spread, tiles->whole);
}

Value* attention(Emitter& e, const AttentionParts& parts) {
  for (const Value* part : {parts.query, parts.key, parts.value})
    if (e.rank(part) != 4)
      e.fail(
          user_error("query, key and value need 4 axes, and one is {}", to_string(e.shape(part))));
  if (!e.ok()) return nullptr;
  if (!parts.normalizes || parts.scale != nullptr) return composed_attention(e, parts);
  Attention op;
  op.scale = 1;
  op.causal = parts.causal;
  std::vector<Value*> values = {parts.query, parts.key, parts.value};
  if (parts.mask != nullptr) values.push_back(parts.mask);
  return e.add(op, std::move(values));
}

Value* experts(Emitter& e, const ExpertParts& parts) {
  if (!e.ok()) return nullptr;
  const auto biased = [&](Value* value, Value* bias) {
    return bias == nullptr ? value : e.add(value, e.unsqueeze(bias, {1}));
  };
  const int64_t hidden = e.constant_extent(parts.tokens, -1);
  const int64_t k = e.constant_extent(parts.chosen, -1);
  const int64_t count = e.constant_extent(parts.weights[0], 0);
  Value* tokens = e.reshape(parts.tokens, {1, -1, hidden});
  Value* gate = biased(e.matmul(tokens, parts.weights[0]), parts.biases[0]);
  Value* up = biased(e.matmul(tokens, parts.weights[1]), parts.biases[1]);
  Value* y = biased(e.matmul(gated(e, parts, gate, up), parts.weights[2]), parts.biases[2]);
  // Weight of an expert for a token: the sum of its scores among the k chosen ones.
  Value* index = e.cast(e.reshape(parts.chosen, {-1, k, 1}), DataType::kInt64);
  Value* all = e.add(RangeOf{}, {e.integer(0), e.integer(count), e.integer(1)});
  Value* scores = e.cast(e.reshape(parts.scores, {-1, k, 1}), e.type(y));
  Value* chosen = e.where(e.equal(index, all), scores, e.number(0, e.type(y)));
  Value* share = e.transpose(e.reduce(ReduceFunction::kSum, chosen, {1}, false), {1, 0});
  y = e.reduce(ReduceFunction::kSum, e.mul(y, e.unsqueeze(share, {2})), {0}, false);
  return e.reshape_as(y, parts.tokens);
}

}  // namespace tenon::network
