// Attention and what surrounds it.
#include <cmath>

#include "onnx/graph_importer.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/generate.h"
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
  if (n.integer_attribute("left_window_size", -1) >= 0 ||
      n.integer_attribute("right_window_size", -1) >= 0)
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "sliding windows are not supported; express them by attn_mask");
  int count = 1;
  for (int i = 0; i < 4; ++i)
    if (n.wants(i)) count = i + 1;
  const std::vector<Value*> results = n.add_multiple(op, n.inputs(), count);
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
  if (!n.ok() || kv_heads <= 0 || q_heads % kv_heads != 0)
    return n.fail(ImportCode::kInvalidNode,
                  fmt::format("{} query heads do not divide by {}", q_heads, kv_heads));
  const auto repeated = [&](Value* x) {
    if (q_heads == kv_heads) return x;
    std::vector<int64_t> heads;
    for (int64_t head = 0; head < q_heads; ++head) heads.push_back(head / (q_heads / kv_heads));
    Gather gather;
    gather.axis = 1;
    return n.add(gather, {x, n.integers(heads)});
  };
  const double scale =
      n.real_attribute("scale", 1.0 / std::sqrt(static_cast<double>(n.constant_extent(q, 3))));
  Value* scores = n.matmul(n.cast(q, compute), n.cast(repeated(n.input(1)), compute), false, true);
  scores = modified(n, "score_mod", n.mul(scores, scale));
  Softmax softmax;
  softmax.axes = {-1};
  Value* probabilities = modified(n, "prob_mod", n.add(std::move(softmax), {scores}));
  n.output(n.cast(n.matmul(probabilities, n.cast(repeated(n.input(2)), compute)), type));
}

namespace {

/// What one step of linear attention reads, in the order of the body's inputs after the state.
struct LinearStep {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  Value* decay = nullptr;
  Value* beta = nullptr;
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

}  // namespace

/// A scan over time whose body is the recurrence; computed in f32.
void import_linear_attention(NodeImporter& n, const OpRow&) {
  const int64_t q_heads = n.integer_attribute("q_num_heads", 0);
  const int64_t kv_heads = n.integer_attribute("kv_num_heads", 0);
  const int rule =
      n.choice("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  if (!n.ok() || kv_heads <= 0 || q_heads % kv_heads != 0)
    return n.fail(ImportCode::kInvalidNode,
                  fmt::format("{} query heads do not divide by {}", q_heads, kv_heads));
  const DataType type = n.type(n.input(0));
  const DataType compute = type == DataType::kFloat64 ? type : DataType::kFloat32;
  const auto heads = [&](Value* x, int64_t count) -> Value* {
    return x ? split_heads(n, n.cast(x, compute), count) : nullptr;
  };
  const auto repeated = [&](Value* x, int64_t axis) {
    if (q_heads == kv_heads || !x) return x;
    std::vector<int64_t> of;
    for (int64_t head = 0; head < q_heads; ++head) of.push_back(head / (q_heads / kv_heads));
    Gather gather;
    gather.axis = axis;
    return n.add(gather, {x, n.integers(of)});
  };
  Value* q = heads(n.input(0), q_heads);
  Value* k = heads(n.input(1), kv_heads);
  Value* v = heads(n.input(2), kv_heads);
  const bool gated = rule == 1 || rule == 3;
  const bool delta = rule >= 2;
  Value* decay = gated ? heads(n.input(4), kv_heads) : nullptr;
  Value* beta = delta ? heads(n.input(5), kv_heads) : nullptr;
  double scale = n.real_attribute("scale", 0);
  if (scale == 0) scale = 1.0 / std::sqrt(static_cast<double>(n.constant_extent(k, 3)));
  Value* state = n.input(3) ? n.cast(n.input(3), compute) : nullptr;
  if (!state) {
    Tensor zero(compute, {});
    zero.set_from_double(0, 0);
    Value* batch = n.slice(n.shape_of(k), 0, 0, 1);
    Value* sizes = n.integers({kv_heads, n.constant_extent(k, 3), n.constant_extent(v, 3)});
    state = n.fill(n.concat({batch, sizes}, 0), std::move(zero));
  }
  state = repeated(state, 1);
  std::vector<Value*> inputs{state, q, repeated(k, 2), repeated(v, 2)};
  if (decay) inputs.push_back(repeated(decay, 2));
  if (beta) inputs.push_back(repeated(beta, 2));
  if (!n.ok()) return;

  auto body = std::make_unique<Graph>();
  body->symbol_ranges = n.graph().symbol_ranges;
  std::vector<Value*> formal{body->add_input("", {compute, state->type.shape})};
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape shape = inputs[i]->type.shape;
    shape.erase(shape.begin() + 1);
    formal.push_back(body->add_input("", {compute, std::move(shape)}));
  }
  FoldCache folded;
  Emitter e(*body, folded);
  LinearStep step{formal[1], formal[2], formal[3]};
  // One number a head, or one a key channel: both scale rows of the state.
  if (decay) step.decay = e.unsqueeze(formal[4], {-1});
  if (beta) step.beta = e.unsqueeze(formal.back(), {-1});
  const auto [next, out] = linear_step(e, formal[0], step, scale, delta);
  if (!e.ok()) return n.fail(e.code(), e.message());
  body->add_output(next);
  body->add_output(out);

  Scan op;
  op.states = 1;
  op.scanned = static_cast<int64_t>(inputs.size()) - 1;
  op.input_axes.assign(inputs.size() - 1, 1);
  op.input_directions.assign(inputs.size() - 1, 0);
  op.output_axes = {1};
  op.output_directions = {0};
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(std::move(body));
  const std::vector<Value*> results =
      n.add_node(std::make_unique<Scan>(std::move(op)), inputs, 2, std::move(bodies));
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
