// Attention and the operators around it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/graph_importer.h"
#include "onnx/import_positions.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/movement.h"
#include "ops/nn.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

DataType softmax_type(NodeImporter& n, std::string_view name) {
  const DataType type =
      n.type(n.input(0)) == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
  return n.type_attribute(name, type);
}

/// [B,T,H*D] to [B,T,H,D].
Value* split_heads(NodeImporter& n, Value* x, int64_t heads) {
  return n.reshape(x, {0, 0, heads, -1});
}

/// Whether groups of the query's heads can share those of keys and values; fails where not.
bool check_heads(NodeImporter& n, int64_t q_heads, int64_t kv_heads) {
  if (n.ok() && q_heads > 0 && kv_heads > 0 && q_heads % kv_heads == 0) return true;
  n.fail(ImportCode::kInvalidNode,
         fmt::format("{} query heads do not divide by {}", q_heads, kv_heads));
  return false;
}

/// Heads of keys or values, along an axis, each as often as heads of the query share it.
Value* repeat_heads(NodeImporter& n, Value* x, int64_t axis, int64_t q_heads, int64_t kv_heads) {
  if (q_heads == kv_heads) return x;
  std::vector<int64_t> heads;
  for (int64_t head = 0; head < q_heads; ++head) heads.push_back(head / (q_heads / kv_heads));
  Gather gather;
  gather.axis = axis;
  return n.add(gather, {x, n.integers(heads)});
}

/// One graph attribute applied to a value, or the value itself.
Value* modified(NodeImporter& n, std::string_view name, Value* value) {
  if (!n.has(name) || !n.ok()) return value;
  const ::onnx::GraphProto* graph = n.body(name);
  if (!graph || graph->input_size() != 1 || graph->output_size() != 1) {
    n.fail(ImportCode::kInvalidNode, fmt::format("{} must take one tensor and give one", name));
    return nullptr;
  }
  const std::vector<Value*> results = n.importer().inline_body(*graph, {value});
  if (results.empty()) n.fail(ImportCode::kSuccess, "");
  return results.empty() ? nullptr : results[0];
}

}  // namespace

namespace {

/// Query position minus key position, [(B,1,)Sq,Skv]. Queries come after the past, or end where the
/// valid keys of their sequence end.
Value* distances(NodeImporter& n) {
  const auto length = [&n](Value* x) { return extent_value(n, x, n.rank(x) == 3 ? 1 : 2); };
  Value* q_length = length(n.input(0));
  Value* kv_length = length(n.input(1));
  Value* rows = n.unsqueeze(counting(n, q_length), {1});
  if (n.has_input(4)) {
    Value* past = extent_value(n, n.input(4), 2);
    kv_length = n.add(kv_length, past);
    rows = n.add(rows, past);
  } else if (n.has_input(6)) {
    rows = n.add(rows, n.unsqueeze(n.sub(n.input(6), q_length), {1, 2, 3}));
  }
  return n.sub(rows, counting(n, kv_length));
}

/// The mask operand with further positions masked.
Value* restricted(NodeImporter& n, Value* mask, Value* allowed) {
  if (!mask) return allowed;
  if (n.type(mask) == DataType::kBool) return n.pointwise(F::k_and, {mask, allowed});
  return n.where(allowed, mask, n.number(-std::numeric_limits<double>::infinity(), n.type(mask)));
}

/// The mask with entries for every key: those behind its end are masked.
Value* full_mask(NodeImporter& n, Value* mask, Value* distance) {
  if (!mask || n.extent(mask, -1) == n.extent(distance, -1)) return mask;
  const int64_t missing = n.constant_extent(distance, -1) - n.constant_extent(mask, -1);
  const bool boolean = n.type(mask) == DataType::kBool;
  const double masked = boolean ? 0 : -std::numeric_limits<double>::infinity();
  return n.add(Pad{},
               {mask, n.integers({0, missing}), n.number(masked, n.type(mask)), n.integers({-1})});
}

/// Causality aligned to each sequence's length, and sliding windows, as a mask.
Value* explicit_mask(NodeImporter& n, bool causal, int64_t left, int64_t right) {
  Value* distance = distances(n);
  Value* mask = full_mask(n, n.input(3), distance);
  const auto require = [&](F comparison, int64_t bound) {
    mask = restricted(n, mask, n.pointwise(comparison, {distance, n.integer(bound)}));
  };
  if (causal) require(F::k_greater_equal, 0);
  if (left >= 0) require(F::k_less_equal, left);
  if (right >= 0) require(F::k_greater_equal, -right);
  return mask;
}

}  // namespace

void import_attention(NodeImporter& n, const OpRow&) {
  Attention op;
  op.scale = n.real_attribute("scale", 0);
  op.softcap = n.real_attribute("softcap", 0);
  op.causal = n.flag("is_causal") ? CausalMask::kUpperLeft : CausalMask::kNone;
  op.q_heads = n.integer_attribute("q_num_heads", 0);
  op.kv_heads = n.integer_attribute("kv_num_heads", 0);
  op.masked_rows_zero = true;
  const int64_t mode = n.integer_attribute("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return n.fail(ImportCode::kInvalidNode, fmt::format("qk_matmul_output_mode is {}", mode));
  // Since the soft cap comes before the mask, mode 1 shows its result, and mode 2 the masked
  // scores.
  constexpr ScoresOutput kModes[] = {ScoresOutput::kScaled, ScoresOutput::kCapped,
                                     ScoresOutput::kMasked, ScoresOutput::kSoftmax};
  op.scores = kModes[mode];
  op.softmax_type = softmax_type(n, "softmax_precision");
  std::vector<Value*> inputs = n.inputs();
  const int64_t left = n.integer_attribute("left_window_size", -1);
  const int64_t right = n.integer_attribute("right_window_size", -1);
  const bool by_length = op.causal != CausalMask::kNone && n.has_input(6);
  if (by_length || left >= 0 || right >= 0) {
    inputs.resize(std::max<size_t>(inputs.size(), 4), nullptr);
    inputs[3] = explicit_mask(n, op.causal != CausalMask::kNone, left, right);
    op.causal = CausalMask::kNone;
  }
  int count = 1;
  for (int i = 0; i < 4; ++i)
    if (n.wants(i)) count = i + 1;
  const std::vector<Value*> results = n.add_multiple(op, std::move(inputs), count);
  for (int i = 0; i < count; ++i) n.output(i, results[static_cast<size_t>(i)]);
}

void import_rotary_embedding(NodeImporter& n, const OpRow&) {
  RotaryEmbedding op;
  op.interleaved = n.flag("interleaved");
  op.rotary_dim = n.integer_attribute("rotary_embedding_dim", 0);
  op.heads = n.integer_attribute("num_heads", 0);
  n.output(n.add(op, n.inputs()));
}

/// Keys and values of a group of query heads are repeated; the graphs modify scores and
/// probabilities.
void import_flex_attention(NodeImporter& n, const OpRow&) {
  Value* q = n.input(0);
  const DataType type = n.type(q);
  const DataType compute = softmax_type(n, "softmax_precision");
  const int64_t q_heads = n.constant_extent(q, 1);
  const int64_t kv_heads = n.constant_extent(n.input(1), 1);
  if (!check_heads(n, q_heads, kv_heads)) return;
  const auto repeated = [&](Value* x) {
    return n.cast(repeat_heads(n, x, 1, q_heads, kv_heads), compute);
  };
  const double scale =
      n.real_attribute("scale", 1.0 / std::sqrt(static_cast<double>(n.constant_extent(q, 3))));
  Value* scores = n.matmul(n.cast(q, compute), repeated(n.input(1)), false, true);
  scores = modified(n, "score_mod", n.mul(scores, scale));
  Softmax softmax;
  softmax.axes = {-1};
  Value* probabilities = modified(n, "prob_mod", n.add(std::move(softmax), {scores}));
  n.output(n.cast(n.matmul(probabilities, repeated(n.input(2))), type));
}

namespace {

/// The operands of one step of linear attention, in the order of the body's inputs after the state.
struct LinearStep {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  Value* decay = nullptr;
  Value* beta = nullptr;
};

/// A variant of the recurrence. Decay and beta are operands of the node.
struct LinearRule {
  bool decays = false, delta = false, has_beta = false;
  double scale = 1;
};

/// state [B,H,dk,dv], q and k [B,H,dk], v [B,H,dv]: the recurrence of the operator's definition.
std::pair<Value*, Value*> linear_step(Emitter& e, Value* state, const LinearStep& step,
                                      double scale, bool delta) {
  if (step.decay) state = e.mul(state, e.exp(step.decay));
  Value* key = e.unsqueeze(step.k, {-1});
  Value* value = e.unsqueeze(step.v, {-2});
  if (delta) value = e.sub(value, e.matmul(e.unsqueeze(step.k, {-2}), state));
  if (delta && step.beta) value = e.mul(value, step.beta);
  state = e.add(state, e.mul(key, value));
  Value* read = e.squeeze(e.matmul(e.unsqueeze(step.q, {-2}), state), {-2});
  return {state, e.mul(read, scale)};
}

/// The body of a scan over the operands: its inputs are these without the axis of time. Null where
/// it cannot be written, with the node's error.
std::unique_ptr<Graph> linear_body(NodeImporter& n, const std::vector<Value*>& operands,
                                   const LinearRule& rule) {
  auto body = std::make_unique<Graph>();
  body->symbol_ranges = n.graph().symbol_ranges;
  std::vector<Value*> formal;
  for (const Value* operand : operands) {
    Shape shape = operand->type.shape;
    if (!formal.empty()) shape.erase(shape.begin() + 1);  // All but the state.
    formal.push_back(body->add_input("", {operand->type.type, std::move(shape)}));
  }
  FoldCache folded;
  Emitter e(*body, folded);
  LinearStep step{formal[1], formal[2], formal[3]};
  // One number a head, or one a key channel: both scale rows of the state.
  if (rule.decays) step.decay = e.unsqueeze(formal[4], {-1});
  if (rule.has_beta) step.beta = e.unsqueeze(formal.back(), {-1});
  const auto [next, out] = linear_step(e, formal[0], step, rule.scale, rule.delta);
  if (!e.ok()) {
    n.fail(e.code(), e.message());
    return nullptr;
  }
  body->add_output(next);
  body->add_output(out);
  return body;
}

/// One state; the other operands and the result have time as axis 1.
Scan scan_over_time(size_t scanned) {
  Scan op;
  op.states = 1;
  op.scanned = static_cast<int64_t>(scanned);
  op.input_axes.assign(scanned, 1);
  op.input_directions.assign(scanned, 0);
  op.output_axes = {1};
  op.output_directions = {0};
  return op;
}

/// Zeros [B,H,dk,dv], for keys and values of [B,T,H,D].
Value* empty_state(NodeImporter& n, Value* k, Value* v, int64_t heads) {
  Tensor zero(n.type(k), {});
  zero.set_from_double(0, 0);
  Value* batch = n.slice(n.shape_of(k), 0, 0, 1);
  Value* sizes = n.integers({heads, n.constant_extent(k, 3), n.constant_extent(v, 3)});
  return n.fill(n.concat({batch, sizes}, 0), std::move(zero));
}

}  // namespace

/// A scan over time whose body is the recurrence; computed in f32.
void import_linear_attention(NodeImporter& n, const OpRow&) {
  const int64_t q_heads = n.integer_attribute("q_num_heads", 0);
  const int64_t kv_heads = n.integer_attribute("kv_num_heads", 0);
  const int kind =
      n.choice("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  if (!check_heads(n, q_heads, kv_heads)) return;
  const DataType type = n.type(n.input(0));
  const DataType compute = type == DataType::kFloat64 ? type : DataType::kFloat32;
  const auto heads = [&](Value* x, int64_t count) -> Value* {
    return x ? split_heads(n, n.cast(x, compute), count) : nullptr;
  };
  // One number for all heads stands as a head of its own, which broadcasts.
  const auto gate = [&](Value* x) { return heads(x, n.extent(x, -1) == Dim(1) ? 1 : kv_heads); };
  const auto repeated = [&](Value* x, int64_t axis) {
    const bool is_shared = q_heads == kv_heads || n.extent(x, axis) == Dim(1);
    return is_shared ? x : repeat_heads(n, x, axis, q_heads, kv_heads);
  };
  Value* k = heads(n.input(1), kv_heads);
  Value* v = heads(n.input(2), kv_heads);
  const bool delta = kind >= 2;
  LinearRule rule{.decays = (kind == 1 || kind == 3) && n.has_input(4),
                  .delta = delta,
                  .has_beta = delta && n.has_input(5),
                  .scale = n.real_attribute("scale", 0)};
  if (rule.scale == 0) rule.scale = 1.0 / std::sqrt(static_cast<double>(n.constant_extent(k, 3)));
  Value* state = n.input(3) ? n.cast(n.input(3), compute) : empty_state(n, k, v, kv_heads);
  std::vector<Value*> operands{repeated(state, 1), heads(n.input(0), q_heads), repeated(k, 2),
                               repeated(v, 2)};
  if (rule.decays) operands.push_back(repeated(gate(n.input(4)), 2));
  if (rule.has_beta) operands.push_back(repeated(gate(n.input(5)), 2));
  if (!n.ok()) return;
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(linear_body(n, operands, rule));
  if (!n.ok()) return;
  const std::vector<Value*> results = n.add_node(
      std::make_unique<Scan>(scan_over_time(operands.size() - 1)), operands, 2, std::move(bodies));
  if (!n.ok()) return;
  n.output(0, n.cast(n.reshape(results[1], {0, 0, -1}), type));
  if (!n.wants(1)) return;
  Value* last = results[0];
  if (q_heads != kv_heads) last = n.slice(last, 1, 0, INT64_MAX, q_heads / kv_heads);
  n.output(1, n.cast(last, n.has_input(3) ? n.type(n.input(3)) : type));
}

/// Operands: cache, update, write positions.
void import_kv_cache_update(NodeImporter& n, const OpRow&) {
  TensorScatter op;
  op.axis = -2;
  n.output(n.add(op, n.inputs()));
}

}  // namespace tenon::importer
