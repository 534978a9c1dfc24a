// Attention of the domain com.microsoft: as ONNX Runtime's optimizer fuses it, and as builders of
// language models write it.
#include <limits>

#include "onnx/import_positions.h"
#include "onnx/import_quantize.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

/// Operands of the IR's attention, in its order.
struct Operands {
  Value *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  Value *past_k = nullptr, *past_v = nullptr;
};

/// Output 0, and the keys and values with the past in front.
std::vector<Value*> attend(NodeImporter& n, const Attention& op, const Operands& x, bool present) {
  return n.add_multiple(op, {x.q, x.k, x.v, x.mask, x.past_k, x.past_v}, present ? 3 : 1);
}

Attention attention_of(NodeImporter& n, int64_t q_heads, int64_t kv_heads) {
  Attention op;
  op.q_heads = q_heads;
  op.kv_heads = kv_heads;
  op.scale = n.real_attribute("scale", 0);
  if (q_heads < 1 || kv_heads < 1)
    n.fail(ImportCode::kInvalidNode, "the number of heads must be at least 1");
  return op;
}

/// Which keys count: a length for each sequence, or a number for each key that is not 0 where it
/// counts, also one for each query and key.
Value* counted_keys(NodeImporter& n, Value* mask, Value* k, Value* past) {
  if (n.rank(mask) == 2) return n.unsqueeze(n.cast(mask, DataType::kBool), {1, 2});
  if (n.rank(mask) == 3) return n.unsqueeze(n.cast(mask, DataType::kBool), {1});
  if (n.rank(mask) != 1 || (n.extent(mask, 0).is_constant() && n.extent(k, 0).is_constant() &&
                            n.extent(mask, 0) != n.extent(k, 0))) {
    n.fail(
        ImportCode::kUnsupportedNodeInput,
        "masks are supported as one length a sequence, [batch, keys] and [batch, queries, keys]");
    return nullptr;
  }
  Value* keys = extent_value(n, k, n.rank(k) == 3 ? 1 : 2);
  if (past != nullptr) keys = n.add(keys, extent_value(n, past, 2));
  Value* lengths = n.unsqueeze(n.cast(mask, DataType::kInt64), {1, 2, 3});
  return n.pointwise(F::k_less, {counting(n, keys), lengths});
}

/// The mask as a summand, which hides by a finite number, and the bias of the scores.
Value* added_mask(NodeImporter& n, const Operands& x, Value* mask, Value* bias) {
  if (mask == nullptr) return bias;
  const DataType type = n.type(x.q);
  Value* hidden = n.number(n.real_attribute("mask_filter_value", -10000), type);
  mask = n.where(counted_keys(n, mask, x.k, x.past_k), n.number(0, type), hidden);
  return bias == nullptr ? mask : n.add(mask, bias);
}

/// Parts of an axis, one after the other.
std::vector<Value*> parts_of(NodeImporter& n, Value* x, int64_t axis,
                             const std::vector<int64_t>& sizes) {
  std::vector<Value*> parts;
  int64_t at = 0;
  for (const int64_t size : sizes) {
    parts.push_back(n.slice(x, axis, at, at + size));
    at += size;
  }
  return parts;
}

/// Half of a cache of keys and values, [2, ...].
Value* half_of(NodeImporter& n, Value* cache, int64_t half) {
  return n.squeeze(n.slice(cache, 0, half, half + 1), {0});
}

void refuse_shared_buffers(NodeImporter& n, int length_input) {
  n.expect("past_present_share_buffer", 0);
  if (n.has_input(length_input))
    n.fail(ImportCode::kUnsupportedNodeInput,
           "buffers that the past and the present share are not supported");
}

}  // namespace

namespace {

/// Attention of products [batch, sequence, sizes of queries, keys and values] to themselves; the
/// operands that are not there are null.
struct SelfAttention {
  NodeImporter& n;
  Value *products, *mask, *past, *bias;

  void attend(const std::vector<int64_t>& sizes) const {
    const int64_t heads = n.integer_attribute("num_heads", 0);
    Attention op = attention_of(n, heads, heads);
    op.causal = n.flag("unidirectional") ? CausalMask::kUpperLeft : CausalMask::kNone;
    const std::vector<Value*> qkv = parts_of(n, products, 2, sizes);
    Operands x{.q = qkv[0], .k = qkv[1], .v = qkv[2]};
    if (past != nullptr) {
      x.past_k = half_of(n, past, 0);
      x.past_v = half_of(n, past, 1);
    }
    x.mask = added_mask(n, x, mask, bias);
    const std::vector<Value*> results = importer::attend(n, op, x, n.wants(1));
    n.output(0, results[0]);
    if (n.wants(1))
      n.output(1, n.concat({n.unsqueeze(results[1], {0}), n.unsqueeze(results[2], {0})}, 0));
  }
};

}  // namespace

/// Products with the weights of queries, keys and values at once, and attention.
void import_fused_attention(NodeImporter& n, const OpRow&) {
  n.expect("do_rotary", 0);
  refuse_shared_buffers(n, 6);
  std::vector<int64_t> sizes = n.integer_list("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, n.constant_extent(n.input(1), 1) / 3);
  if (sizes.size() != 3)
    return n.fail(ImportCode::kInvalidNode, "qkv_hidden_sizes must have 3 entries");
  Value* products = n.matmul(n.input(0), n.input(1));
  if (n.has_input(2)) products = n.add(products, n.input(2));
  SelfAttention{n, products, n.input(3), n.input(4), n.input(5)}.attend(sizes);
}

/// The same with rows and weights of bytes; the weights have one scale or one for each column.
void import_quantized_attention(NodeImporter& n, const OpRow&) {
  n.expect("do_rotary", 0);
  n.expect("past_present_share_buffer", 0);
  Value* rows = n.add(Dequantize{}, {n.input(0), n.input(3), n.input(6)});
  Value* products =
      n.add(n.matmul(rows, dequantized(n, n.input(1), n.input(4), n.input(7), 1)), n.input(2));
  const std::vector<int64_t> sizes(3, n.constant_extent(n.input(1), 1) / 3);
  SelfAttention{n, products, n.input(5), n.input(8), nullptr}.attend(sizes);
}

namespace {

/// Part `which` of packed operands [batch, sequence, heads, parts, size], as [batch, sequence,
/// heads * size].
Value* packed_part(NodeImporter& n, Value* packed, int64_t which) {
  return n.reshape(n.squeeze(n.slice(packed, 3, which, which + 1), {3}), {0, 0, -1});
}

/// Queries, keys and values of MultiHeadAttention: each for itself, or keys with values, or all of
/// them in one.
Operands separate(NodeImporter& n) {
  Operands x{.q = n.input(0), .k = n.input(1), .v = n.input(2)};
  if (x.k == nullptr && n.rank(x.q) == 5)
    return {.q = packed_part(n, x.q, 0), .k = packed_part(n, x.q, 1), .v = packed_part(n, x.q, 2)};
  if (x.k != nullptr && x.v == nullptr && n.rank(x.k) == 5)
    return {.q = x.q, .k = packed_part(n, x.k, 0), .v = packed_part(n, x.k, 1)};
  if (x.k == nullptr || x.v == nullptr)
    n.fail(ImportCode::kUnsupportedNodeInput,
           "keys and values must be operands, or packed as [batch, sequence, heads, 2 or 3, size]");
  return x;
}

}  // namespace

void import_multi_head_attention(NodeImporter& n, const OpRow&) {
  refuse_shared_buffers(n, 8);
  if (n.has_input(9))
    return n.fail(ImportCode::kUnsupportedNodeInput, "caches of beams are not supported");
  if (n.wants(3))
    return n.fail(ImportCode::kUnsupportedNodeAttr, "the scores are not given as an output");
  const int64_t heads = n.integer_attribute("num_heads", 0);
  Attention op = attention_of(n, heads, heads);
  op.causal = n.flag("unidirectional") ? CausalMask::kUpperLeft : CausalMask::kNone;
  Operands x = separate(n);
  if (!n.ok()) return;
  if (n.has_input(3)) {
    const int64_t q_size = n.constant_extent(x.q, 2);
    const bool joined = n.rank(x.k) == 3;  // Of rank 4 they come from a cache, with their bias.
    const int64_t v_size = joined ? n.constant_extent(x.v, 2) : 0;
    const std::vector<Value*> bias = parts_of(n, n.input(3), 0, {q_size, q_size, v_size});
    x.q = n.add(x.q, bias[0]);
    if (joined) x.k = n.add(x.k, bias[1]);
    if (joined) x.v = n.add(x.v, bias[2]);
  }
  x.past_k = n.input(6);
  x.past_v = n.input(7);
  x.mask = added_mask(n, x, n.input(4), n.input(5));
  const bool present = n.wants(1) || n.wants(2);
  const std::vector<Value*> results = attend(n, op, x, present);
  for (int i = 0; i < 3; ++i)
    if (i == 0 || present) n.output(i, results[static_cast<size_t>(i)]);
}

namespace {

/// Rotates x [batch, sequence, heads * size] or [batch, heads, sequence, size] by its positions
/// [batch, sequence].
Value* rotated(NodeImporter& n, Value* x, int64_t heads, bool interleaved, Value* positions,
               Value* cos, Value* sin) {
  RotaryEmbedding op;
  op.interleaved = interleaved;
  op.heads = heads;
  op.rotary_dim = 2 * n.constant_extent(cos, 1);
  return n.add(op, {x, n.cast(cos, n.type(x)), n.cast(sin, n.type(x)), positions});
}

/// `first` + 0, 1, ... [batch, sequence] for x; `first` is one number, or [batch, 1].
Value* positions_from(NodeImporter& n, Value* first, Value* x) {
  const int64_t axis = n.rank(x) == 3 ? 1 : 2;
  Value* shape = n.shape_of(x);
  Value* grid = n.concat({n.slice(shape, 0, 0, 1), n.slice(shape, 0, axis, axis + 1)}, 0);
  Value* ids = n.add(n.cast(first, DataType::kInt64), counting(n, extent_value(n, x, axis)));
  return n.add(Expand{}, {ids, grid});
}

/// Attention of groups of query heads to the keys and values of one head.
struct GroupQuery {
  explicit GroupQuery(NodeImporter& node) : n(node) {}

  NodeImporter& n;
  int64_t heads = 0, kv_heads = 0;
  Operands x;
  Value* first = nullptr;  ///< Position of the first query, [batch, 1].

  void split_operands() {
    x = {.q = n.input(0), .k = n.input(1), .v = n.input(2)};
    if (x.k == nullptr && n.ok()) {
      const int64_t size = n.constant_extent(x.q, 2) / (heads + 2 * kv_heads);
      const std::vector<Value*> qkv =
          parts_of(n, x.q, 2, {heads * size, kv_heads * size, kv_heads * size});
      x = {.q = qkv[0], .k = qkv[1], .v = qkv[2]};
    }
    x.past_k = n.input(3);
    x.past_v = n.input(4);
  }

  /// Sequences that are shorter than others end earlier in the past.
  void find_first() {
    Value* last = n.unsqueeze(n.cast(n.input(5), DataType::kInt64), {1});
    Value* queries = extent_value(n, x.q, 1);
    first = n.max(n.sub(n.add(last, n.integer(1)), queries), n.integer(0));
  }

  /// Each head's queries and keys are normalized where there are weights for it.
  void normalize() {
    const double epsilon = n.real_attribute("qk_norm_epsilon", 1e-6F);
    const auto by = [&](Value* value, int64_t count, int weight, std::string_view own) {
      Normalization op;
      op.norm = NormKind::kRms;
      op.epsilon = n.real_attribute(own, epsilon);
      Value* parts = n.reshape(value, {0, 0, count, -1});
      return n.reshape(n.add(op, {parts, n.input(weight)}), {0, 0, -1});
    };
    if (n.has_input(14)) x.q = by(x.q, heads, 14, "q_norm_epsilon");
    if (n.has_input(15)) x.k = by(x.k, kv_heads, 15, "k_norm_epsilon");
  }

  void rotate() {
    Value* positions = n.has_input(9) ? n.input(9) : positions_from(n, first, x.q);
    const bool interleaved = n.flag("rotary_interleaved");
    x.q = rotated(n, x.q, heads, interleaved, positions, n.input(7), n.input(8));
    x.k = rotated(n, x.k, kv_heads, interleaved, positions, n.input(7), n.input(8));
  }

  /// New rows where each sequence ends.
  Value* appended(Value* past, Value* fresh) {
    fresh = n.transpose(n.reshape(fresh, {0, 0, kv_heads, -1}), {0, 2, 1, 3});
    if (past == nullptr) return fresh;
    return n.add(TensorScatter{}, {n.concat({past, fresh}, 2), fresh, n.squeeze(first, {1})});
  }

  /// Keys up to the query's own position, and no more than the window; all that a sequence has
  /// where the order does not count.
  Value* visible(int64_t window) {
    if (!n.flag("causal", true)) {
      Value* last = n.unsqueeze(n.cast(n.input(5), DataType::kInt64), {1, 2, 3});
      return n.pointwise(F::k_less_equal, {counting(n, extent_value(n, x.k, 2)), last});
    }
    Value* query = n.unsqueeze(positions_from(n, first, x.q), {1, 3});
    Value* behind = n.sub(query, counting(n, extent_value(n, x.k, 2)));
    Value* mask = n.pointwise(F::k_greater_equal, {behind, n.integer(0)});
    if (window <= 0) return mask;
    Value* near = n.pointwise(F::k_less, {behind, n.integer(window)});
    return n.pointwise(F::k_and, {mask, near});
  }

  /// The mask as a summand.
  Value* added(Value* mask, Value* bias) {
    const DataType type = n.type(bias != nullptr ? bias : x.q);
    Value* hidden = n.number(-std::numeric_limits<double>::infinity(), type);
    return n.where(mask, bias != nullptr ? bias : n.number(0, type), hidden);
  }

  /// One more key of zeros whose value is zero: its score is the summand, a number for each head.
  void append_sinks(Value* sinks) {
    const auto longer = [&](Value* rows) {
      Value* zero = n.filled_like(n.slice(rows, 2, 0, 1), 0, n.type(rows));
      return n.concat({rows, zero}, 2);
    };
    Value* of_heads = n.cast(n.reshape(sinks, {1, -1, 1, 1}), n.type(x.mask));
    Value* column = n.filled_like(n.slice(x.mask, 3, 0, 1), 0, n.type(x.mask));
    Value* wide = n.add(x.mask, n.filled_like(of_heads, 0, n.type(x.mask)));
    x.mask = n.concat({wide, n.add(column, of_heads)}, 3);
    x.k = longer(x.k);
    x.v = longer(x.v);
  }
};

}  // namespace

void import_group_query_attention(NodeImporter& n, const OpRow&) {
  n.expect("qk_output", 0);
  n.expect("kv_cache_bit_width", 0);
  n.expect("sliding_window_cache", 0);
  if (n.has_input(12) || n.has_input(13) || n.has_input(16))
    return n.fail(ImportCode::kUnsupportedNodeInput,
                  "quantized caches and lengths of queries are not supported");
  GroupQuery group(n);
  group.heads = n.integer_attribute("num_heads", 0);
  group.kv_heads = n.integer_attribute("kv_num_heads", 0);
  Attention op = attention_of(n, group.heads, group.kv_heads);
  op.softcap = n.real_attribute("softcap", 0);
  group.split_operands();
  group.find_first();
  if (!n.ok()) return;
  Operands& x = group.x;
  group.normalize();
  if (n.flag("do_rotary")) group.rotate();
  x.k = group.appended(x.past_k, x.k);
  x.v = group.appended(x.past_v, x.v);
  x.past_k = x.past_v = nullptr;
  x.mask = group.visible(n.integer_attribute("local_window_size", -1));
  const bool smooth = n.integer_attribute("smooth_softmax", 0) > 0;
  const bool has_sinks = smooth || n.has_input(11);
  if (n.has_input(10) || has_sinks) x.mask = group.added(x.mask, n.input(10));
  if (n.wants(1)) n.output(1, x.k);
  if (n.wants(2)) n.output(2, x.v);
  if (has_sinks) group.append_sinks(n.has_input(11) ? n.input(11) : n.number(0, n.type(x.mask)));
  n.output(0, attend(n, op, x, false)[0]);
}

/// Positions are a number for each token, or that of the first.
void import_fused_rotary_embedding(NodeImporter& n, const OpRow&) {
  n.expect("is_packed_batching", 0);
  Value* x = n.input(0);
  const int64_t rotary = 2 * n.constant_extent(n.input(2), 1);
  int64_t heads = n.integer_attribute("num_heads", 0);
  if (heads == 0 && n.rank(x) == 3 && rotary > 0) heads = n.constant_extent(x, 2) / rotary;
  Value* positions = n.input(1);
  if (n.rank(positions) != 2) positions = positions_from(n, positions, x);
  Value* y = rotated(n, x, heads, n.flag("interleaved"), positions, n.input(2), n.input(3));
  const double scale = n.real_attribute("scale", 1);
  n.output(scale == 1 ? y : n.mul(y, scale));
}

}  // namespace tenon::importer
