#include "kernels/cudnn/attention.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::cudnn {
namespace {

using AttentionOp = tenon::Attention;

/// [batch, heads, length, size] from any of the operator's forms.
Result<Shape> heads_of(const Operand& operand, int64_t heads, bool bsnh) {
  const Extents& e = operand.extents;
  const std::vector<int64_t> s = strides_of(operand);
  Shape shape;
  shape.alignment = std::gcd(int64_t{16}, operand.alignment);
  if (operand.rank() == 3) {
    const int64_t size = e[2] / heads;
    shape.extents = {e[0], heads, e[1], size};
    shape.strides = {s[0], size * s[2], s[1], s[2]};
  } else if (bsnh) {
    shape.extents = {e[0], e[2], e[1], e[3]};
    shape.strides = {s[0], s[2], s[1], s[3]};
  } else {
    shape.extents = e;
    shape.strides = s;
  }
  if (shape.strides[3] != 1) return unsupported("the elements of a head are not contiguous");
  for (size_t axis = 0; axis < 3; ++axis)
    if (shape.extents[axis] != 1 && shape.strides[axis] % 8 != 0)
      return unsupported("heads or rows that start at no multiple of 16 bytes");
  if (shape.alignment % 16 != 0) return unsupported("an operand at no multiple of 16 bytes");
  return shape;
}

Status describe_mask(const Operand& mask, Attention& a) {
  if (mask.rank() > 4) return unsupported("a mask of {} axes", mask.rank());
  const std::vector<int64_t> strides = strides_of(mask);
  const int64_t wanted[] = {a.q.extents[0], a.q.extents[1], a.q.extents[2], a.k.extents[2]};
  a.mask.extents.assign(4, 1);
  a.mask.strides.assign(4, 1);
  for (int i = 0; i < mask.rank(); ++i) {
    const int axis = i + 4 - mask.rank();
    if (mask.extents[i] == 1 || strides[i] == 0) continue;
    if (mask.extents[i] != wanted[axis]) return unsupported("a mask shorter than the keys");
    a.mask.extents[axis] = mask.extents[i];
    a.mask.strides[axis] = strides[i];
  }
  if (a.mask.extents[3] != wanted[3]) return unsupported("a mask that is repeated over the keys");
  if (a.mask.strides[3] != 1) return unsupported("a mask whose elements lie apart");
  // Axes of one element get the stride that they would have in a dense mask.
  for (int axis = 2; axis >= 0; --axis)
    if (a.mask.extents[axis] == 1)
      a.mask.strides[axis] = a.mask.strides[axis + 1] * a.mask.extents[axis + 1];
  a.has_mask = true;
  a.mask_is_bool = mask.type == DataType::kBool;
  a.mask_type = a.mask_is_bool ? a.type : mask.type;
  if (a.mask_is_bool && a.mask.strides != packed_strides(a.mask.extents))
    return unsupported("a bool mask with gaps");
  if (!data_type(a.mask_type).ok()) return unsupported("a mask of {}", name_of(mask.type));
  a.mask.alignment = a.mask_is_bool ? 16 : std::gcd(int64_t{16}, mask.alignment);
  return {};
}

Status check_operator(const Problem& problem, const AttentionOp& op) {
  if (problem.outputs.size() > 1) return unsupported("more than the result is wanted");
  for (int i = kMask + 1; i < static_cast<int>(problem.inputs.size()); ++i)
    if (problem.has_input(i)) return unsupported("a past or lengths of sequences are given");
  if (op.softcap != 0) return unsupported("capped scores");
  if (!op.score_steps.empty() || !op.masked_steps.empty())
    return unsupported("functions of the scores");
  if (op.weights_step > 0) return unsupported("weights that are rounded");
  const DataType type = problem.input(kQ).type;
  if (type != DataType::kFloat16 && type != DataType::kBFloat16)
    return unsupported("attention of {}", name_of(type));
  for (const Operand* operand : {&problem.input(kK), &problem.input(kV), &problem.output()})
    if (operand->type != type)
      return unsupported("operands of {} and {}", name_of(type), name_of(operand->type));
  return {};
}

Status check_sizes(const Attention& a) {
  for (const Shape* shape : {&a.q, &a.v})
    if (shape->extents[3] % 8 != 0 || shape->extents[3] > 256)
      return unsupported("heads of {} elements", shape->extents[3]);
  if (a.q.extents[1] % a.k.extents[1] != 0) return unsupported("heads that share keys unevenly");
  if (a.causal && a.diagonal < 0) return unsupported("a causal mask over fewer keys than queries");
  if (a.causal && a.diagonal > 0 && a.has_mask)
    return unsupported("a causal mask from the lower right beside another mask");
  return {};
}

}  // namespace

Result<Attention> describe_attention(const Problem& problem) {
  const auto* op = problem.operation.as<AttentionOp>();
  if (op == nullptr) return unsupported("not attention");
  TENON_TRY(check_operator(problem, *op));
  Attention a;
  a.type = problem.input(kQ).type;
  TENON_ASSIGN(a.q, heads_of(problem.input(kQ), op->q_heads, op->q_bsnh));
  TENON_ASSIGN(a.k, heads_of(problem.input(kK), op->kv_heads, op->k_bsnh));
  TENON_ASSIGN(a.v, heads_of(problem.input(kV), op->kv_heads, op->v_bsnh));
  TENON_ASSIGN(a.o, heads_of(problem.output(), op->q_heads, op->out_bsnh));
  const auto size = static_cast<double>(a.q.extents[3]);
  a.scale = static_cast<float>(op->scale != 0 ? op->scale : 1 / std::sqrt(size));
  // A single query behind all keys sees them all.
  a.diagonal = op->causal == CausalMask::kLowerRight ? a.k.extents[2] - a.q.extents[2] : 0;
  a.causal = op->causal == CausalMask::kUpperLeft ||
             (op->causal == CausalMask::kLowerRight && a.q.extents[2] > 1);
  if (problem.has_input(kMask)) TENON_TRY(describe_mask(problem.input(kMask), a));
  TENON_TRY(check_sizes(a));
  return a;
}

namespace {

/// Builds the chain of operations from q and k to the result.
class AttentionBuilder {
 public:
  AttentionBuilder(AttentionGraph& result, const Attention& attention)
      : result_(result), graph_(result.graph), a_(attention) {
    scores_ = {a_.q.extents[0], a_.q.extents[1], a_.q.extents[2], a_.k.extents[2]};
    rows_ = {scores_[0], scores_[1], scores_[2], 1};
  }

  void build(cudnnDataType_t type, cudnnDataType_t mask_type) {
    result_.q = a_.q.in(graph_, type);
    Shape keys = a_.k;
    std::swap(keys.extents[2], keys.extents[3]);
    std::swap(keys.strides[2], keys.strides[3]);
    result_.k = keys.in(graph_, type);
    result_.v = a_.v.in(graph_, type);
    result_.o = a_.o.in(graph_, type);
    TensorId value = graph_.intermediate(CUDNN_DATA_FLOAT, scores_);
    graph_.matmul(result_.q, result_.k, value);
    value = next(CUDNN_POINTWISE_MUL, value, graph_.scalar(a_.scale, 4));
    if (a_.has_mask) {
      result_.mask = a_.mask.in(graph_, mask_type);
      value = next(CUDNN_POINTWISE_ADD, value, result_.mask);
    }
    if (a_.causal) value = causal(value);
    graph_.matmul(softmax(value, type), result_.v, result_.o);
  }

 private:
  TensorId next(cudnnPointwiseMode_t mode, TensorId x, TensorId b = -1,
                cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const TensorId y = graph_.intermediate(type, scores_);
    graph_.pointwise(mode, x, b, -1, y);
    return y;
  }

  TensorId index(TensorId scores, int64_t axis) {
    PointwiseOptions options;
    options.axis = axis;
    options.compute = CUDNN_DATA_INT32;
    const TensorId y = graph_.intermediate(CUDNN_DATA_INT32, scores_);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, -1, -1, y, options);
    return y;
  }

  TensorId integer(cudnnPointwiseMode_t mode, TensorId x, int64_t number) {
    PointwiseOptions options;
    options.compute = CUDNN_DATA_INT32;
    const TensorId y = graph_.intermediate(CUDNN_DATA_INT32, scores_);
    graph_.pointwise(mode, x, graph_.scalar(static_cast<int32_t>(number), 4), -1, y, options);
    return y;
  }

  TensorId causal(TensorId scores) {
    TensorId row = index(scores, 2);
    const TensorId column = index(scores, 3);
    if (a_.diagonal != 0) {
      // The form in which cuDNN knows the mask from the lower right.
      row = integer(CUDNN_POINTWISE_ADD, row, scores_[3]);
      row = integer(CUDNN_POINTWISE_SUB, row, scores_[2]);
    }
    PointwiseOptions options;
    options.compute = CUDNN_DATA_BOOLEAN;
    const TensorId kept = graph_.intermediate(CUDNN_DATA_BOOLEAN, scores_);
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, -1, kept, options);
    const TensorId nothing = graph_.scalar(-std::numeric_limits<float>::infinity(), 4);
    const TensorId y = graph_.intermediate(CUDNN_DATA_FLOAT, scores_);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, nothing, kept, y);
    return y;
  }

  TensorId softmax(TensorId scores, cudnnDataType_t type) {
    const TensorId largest = graph_.intermediate(CUDNN_DATA_FLOAT, rows_);
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
    const TensorId shifted = next(CUDNN_POINTWISE_SUB, scores, largest);
    const TensorId powers = next(CUDNN_POINTWISE_EXP, shifted);
    const TensorId sum = graph_.intermediate(CUDNN_DATA_FLOAT, rows_);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    // cuDNN knows the pattern by the statistics that training would keep.
    const TensorId log_sum = graph_.intermediate(CUDNN_DATA_FLOAT, rows_);
    graph_.pointwise(CUDNN_POINTWISE_LOG, sum, -1, -1, log_sum);
    const TensorId statistics = graph_.intermediate(CUDNN_DATA_FLOAT, rows_);
    graph_.pointwise(CUDNN_POINTWISE_ADD, largest, log_sum, -1, statistics);
    return next(CUDNN_POINTWISE_DIV, powers, sum, type);
  }

  AttentionGraph& result_;
  Graph& graph_;
  const Attention& a_;
  std::vector<int64_t> scores_, rows_;
};

}  // namespace

Result<AttentionGraph> build_graph(const Api& api, cudnnHandle_t handle,
                                   const Attention& attention) {
  AttentionGraph result;
  result.graph = Graph(api);
  TENON_ASSIGN(const cudnnDataType_t type, data_type(attention.type));
  TENON_ASSIGN(const cudnnDataType_t mask_type, data_type(attention.mask_type));
  AttentionBuilder(result, attention).build(type, mask_type);
  TENON_TRY(result.graph.finish(handle));
  return result;
}

}  // namespace tenon::cudnn
