// Stock plugins: transformers. BERT's keep the sequence in front: x[S, B, E, 1, 1].
#include <algorithm>
#include <cmath>

#include "network/stock_plugins.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

/// DeBERTa's relative position of query minus key, in buckets that grow with the logarithm of the
/// distance; from 0 to 2 span - 1.
int64_t bucket(int64_t distance, int64_t span) {
  const int64_t middle = span / 2;
  int64_t place = distance;
  if (std::abs(distance) > middle) {
    // Just below 1, so that rounding errors of the logarithms do not lift whole numbers to the next
    // bucket.
    const double below_one = 1 - 1e-7;
    const double log_middle = std::log(static_cast<double>(middle));
    const double step = static_cast<double>(middle - 1) /
                        (std::log(static_cast<double>(2 * span - 1)) - log_middle) * below_one;
    const double far =
        std::ceil((std::log(std::abs(static_cast<double>(distance))) - log_middle) * step);
    place = static_cast<int64_t>(far) + middle;
    if (distance < 0) place = -place;
  }
  return std::clamp<int64_t>(place + span, 0, 2 * span - 1);
}

/// Indices [1, S, S]: bucket(row - column), or with `swapped` bucket(column - row).
Value* buckets(Emitter& e, int64_t length, int64_t span, bool swapped) {
  std::vector<int64_t> places;
  for (int64_t row = 0; row < length; ++row)
    for (int64_t column = 0; column < length; ++column)
      places.push_back(bucket(swapped ? column - row : row - column, span));
  return e.reshape(e.integers(std::move(places)), {1, length, length});
}

/// Rows of a field's table of this width that are picked by indices; `like` gives the type.
Value* rows_of(Emitter& e, const StockFields& fields, const char* table, int64_t width,
               Value* indices, Value* like) {
  const std::vector<double> numbers = fields.numbers(table);
  if (numbers.empty() || numbers.size() % static_cast<size_t>(width) != 0) {
    e.fail(user_error("{} has {} numbers, which do not divide into rows of {}", table,
                      numbers.size(), width));
    return nullptr;
  }
  const auto rows = static_cast<int64_t>(numbers.size()) / width;
  return e.add(Gather{}, {reals(e, numbers, {rows, width}, like), indices});
}

}  // namespace

/// The mask's sequences begin with their valid keys, whose number is the second output.
Values stock_embeddings_layer_norm(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  const std::vector<double> gamma = fields.numbers("bert_embeddings_layernorm_gamma"),
                            beta = fields.numbers("bert_embeddings_layernorm_beta");
  const auto width = static_cast<int64_t>(gamma.size());
  if (width == 0) {
    e.fail(user_error("the field bert_embeddings_layernorm_gamma is missing"));
    return {};
  }
  Value* real = e.number(0, DataType::kFloat32);
  Value* length = e.squeeze(e.slice(e.shape_of(in[0]), 0, 0, 1), {0});
  Value* places = e.unsqueeze(e.add(RangeOf{}, {e.integer(0), length, e.integer(1)}), {1});
  Value* words = rows_of(e, fields, "bert_embeddings_word_embeddings", width,
                         e.cast(in[0], DataType::kInt64), real);
  Value* kinds = rows_of(e, fields, "bert_embeddings_token_type_embeddings", width,
                         e.cast(in[1], DataType::kInt64), real);
  Value* positions = rows_of(e, fields, "bert_embeddings_position_embeddings", width, places, real);
  if (!e.ok()) return {};
  Normalization op;
  op.axis = 2;
  op.epsilon = 1e-12;
  Value* y = e.add(std::move(op), {e.add(e.add(words, kinds), positions),
                                   reals(e, gamma, {width}, real), reals(e, beta, {width}, real)});
  if (fields.flag("output_fp16", false)) y = e.cast(y, DataType::kFloat16);
  Value* valid = e.reduce(ReduceFunction::kSum, e.cast(in[2], DataType::kInt32), {0}, false);
  return {e.reshape(y, {0, 0, width, 1, 1}), valid};
}

Values stock_skip_layer_norm(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  const std::vector<double> gamma = fields.numbers("gamma"), beta = fields.numbers("beta"),
                            bias = fields.numbers("bias");
  const int rank = e.rank(in[0]);
  const auto width = static_cast<int64_t>(gamma.size());
  std::vector<int64_t> extents(static_cast<size_t>(std::max(rank - 2, 1)), 1);
  extents[0] = width;  // The axes behind are of extent 1.
  Value* x = e.add(in[0], in[1]);
  if (!bias.empty()) x = e.add(x, reals(e, bias, extents, x));
  Normalization op;
  op.norm = NormKind::kLayer;
  op.axis = 2;
  op.epsilon = 1e-12;
  return {e.add(std::move(op), {x, reals(e, gamma, extents, x), reals(e, beta, extents, x)})};
}

Values stock_gelu(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  Value* x = in[0];
  if (const std::vector<double> bias = fields.numbers("bias"); !bias.empty()) {
    std::vector<int64_t> extents(static_cast<size_t>(std::max(e.rank(x) - 2, 1)), 1);
    extents[0] = static_cast<int64_t>(bias.size());
    x = e.add(x, reals(e, bias, extents, x));
  }
  return {e.pointwise(PointwiseFunction::k_gelu_tanh, {x})};
}

Values stock_fully_connected(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 1)) return {};
  const std::vector<double> weights = fields.numbers("W");
  const int64_t out = fields.integer("out_dims", 0);
  if (out <= 0 || weights.size() % static_cast<size_t>(out) != 0) {
    e.fail(user_error("W has {} numbers, which do not divide into {} rows (out_dims)",
                      weights.size(), out));
    return {};
  }
  const int64_t width = static_cast<int64_t>(weights.size()) / out;
  Value* rows = e.reshape(in[0], {0, 0, width});
  Value* product = e.matmul(rows, reals(e, weights, {out, width}, in[0]), false, true);
  return {e.reshape(product, {0, 0, out, 1, 1})};
}

Values stock_qkv_to_context(Emitter& e, const StockFields& fields, Inputs in) {
  const bool masked = fields.flag("has_mask", false);
  if (!takes(e, in, masked ? 2 : 1, masked ? 2 : 1)) return {};
  const int64_t width = fields.integer("hidden_size", 0), heads = fields.integer("num_heads", 0);
  if (heads <= 0 || width <= 0 || width % heads != 0) {
    e.fail(user_error("hidden_size {} does not divide into num_heads {}", width, heads));
    return {};
  }
  const int64_t size = width / heads;
  // [S, B, N, 3, H] to [B, N, S, H] three times.
  Value* all = e.transpose(e.reshape(in[0], {0, 0, heads, 3, size}), {3, 1, 2, 0, 4});
  Values operands;
  for (int64_t part = 0; part < 3; ++part)
    operands.push_back(e.squeeze(e.slice(all, 0, part, part + 1), {0}));
  if (masked) {
    operands.resize(6, nullptr);
    operands.push_back(e.cast(in[1], DataType::kInt64));  // Keys of each sequence, from its start.
  }
  Attention op;
  op.scale = 1 / std::sqrt(static_cast<double>(size));
  Value* context = e.transpose(e.add(std::move(op), operands), {2, 0, 1, 3});
  return {e.reshape(context, {0, 0, width, 1, 1})};
}

Values stock_disentangled_attention(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 3, 3)) return {};
  const int64_t length = e.constant_extent(in[0], 2), span = fields.integer("span", 0);
  if (!e.ok()) return {};
  if (span < 2) {
    e.fail(user_error("span is {}; it is at least 2", span));
    return {};
  }
  Value* shape = e.shape_of(in[0]);
  const auto picked = [&](Value* table, bool swapped) {
    GatherElements op;
    op.axis = 2;
    return e.add(std::move(op),
                 {table, e.add(Expand{}, {buckets(e, length, span, swapped), shape})});
  };
  Value* content_to_position = picked(in[1], false);
  Value* position_to_content = e.transpose(picked(in[2], true), {0, 2, 1});
  Value* sum = e.add(in[0], e.add(content_to_position, position_to_content));
  return {e.mul(sum, fields.real("factor", 1))};
}

Values stock_multiscale_attention(Emitter& e, const StockFields&, Inputs in) {
  if (!takes(e, in, 5, 5)) return {};
  const auto sizes = e.known_integers(in[1]);
  if (!sizes.has_value()) {
    e.fail(
        unsupported("spatial_shapes are data; they must be constants, since each level is sampled "
                    "as an image"));
    return {};
  }
  Value *value = in[0], *places = in[3], *weights = in[4];
  const int64_t heads = e.constant_extent(value, 2), width = e.constant_extent(value, 3);
  const int64_t points = e.constant_extent(places, 4);
  Value* sum = nullptr;
  int64_t start = 0;
  for (size_t level = 0; e.ok() && 2 * level < sizes->size(); ++level) {
    const int64_t height = (*sizes)[2 * level], columns = (*sizes)[2 * level + 1];
    const auto at = static_cast<int64_t>(level);
    // [N, hw, M, D] to [N M, D, h, w].
    Value* image = e.transpose(e.slice(value, 1, start, start + height * columns), {0, 2, 3, 1});
    image = e.reshape(image, {-1, width, height, columns});
    // [N, Q, M, P, 2] to [N M, Q, P, 2], from 0 to 1 as from -1 to 1.
    Value* grid = e.transpose(e.squeeze(e.slice(places, 3, at, at + 1), {3}), {0, 2, 1, 3, 4});
    Value* queries = e.slice(e.shape_of(places), 0, 1, 2);
    grid =
        e.add(Reshape{}, {grid, e.concat({e.integers({-1}), queries, e.integers({points, 2})}, 0)});
    grid = e.add(e.mul(grid, 2), -1);
    Value* sampled = e.add(GridSample{}, {image, grid});  // [N M, D, Q, P]
    Value* part = e.transpose(e.squeeze(e.slice(weights, 3, at, at + 1), {3}), {0, 2, 1, 3});
    part =
        e.add(Reshape{}, {part, e.concat({e.integers({-1, 1}), queries, e.integers({points})}, 0)});
    Value* weighed = e.reduce(ReduceFunction::kSum, e.mul(sampled, part), {3}, false);
    sum = sum == nullptr ? weighed : e.add(sum, weighed);
    start += height * columns;
  }
  if (sum == nullptr) return {};
  // [N M, D, Q] to [N, Q, M, D].
  Value* queries = e.slice(e.shape_of(places), 0, 1, 2);
  Value* apart = e.add(Reshape{}, {sum, e.concat({e.integers({-1, heads, width}), queries}, 0)});
  return {e.transpose(apart, {0, 3, 1, 2})};
}

}  // namespace tenon::network
