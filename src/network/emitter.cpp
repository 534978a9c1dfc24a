#include "network/emitter.h"

#include <algorithm>

#include "network/widening.h"
#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::network {
namespace {

/// Larger tensors are not evaluated while importing: they are weights, not shapes.
constexpr int64_t kFoldElements = 4096;
constexpr int kFoldDepth = 100;

/// The first operand that carries a shape, axes or the like, or -1.
int first_shape_operand(OpKind kind) {
  switch (kind) {
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kSplit:
    case OpKind::kSlice:
    case OpKind::kPad:
    case OpKind::kReduce:
    case OpKind::kTopK:
    case OpKind::kCumulative:
    case OpKind::kResize:
    case OpKind::kAffineGrid:
    case OpKind::kCol2Im:
    case OpKind::kCenterCropPad:
    case OpKind::kTrilu:
    case OpKind::kOneHot:
    case OpKind::kDft:
    case OpKind::kStft:
    case OpKind::kNms: return 1;
    case OpKind::kMaxUnpool: return 2;
    case OpKind::kFill:
    case OpKind::kRandom:
    case OpKind::kRangeOf:
    case OpKind::kWindow:
    case OpKind::kMelWeights: return 0;
    default: return -1;
  }
}

std::optional<Tensor> tensor_of_elements(const Value& value) {
  if (!value.elements || !is_constant(value.type.shape)) return std::nullopt;
  if (value.type.type != DataType::kInt64 && value.type.type != DataType::kInt32)
    return std::nullopt;
  Tensor result(value.type.type, constants(value.type.shape));
  if (result.count() != static_cast<int64_t>(value.elements->size())) return std::nullopt;
  for (size_t i = 0; i < value.elements->size(); ++i) {
    const Dim& element = (*value.elements)[i];
    if (!element.is_constant()) return std::nullopt;
    if (value.type.type == DataType::kInt64)
      result.mutable_values<int64_t>()[i] = element.constant();
    else
      result.mutable_values<int32_t>()[i] = static_cast<int32_t>(element.constant());
  }
  return result;
}

bool small(const TensorType& type) {
  if (!is_constant(type.shape)) return false;
  int64_t count = 1;
  for (int64_t extent : constants(type.shape)) {
    if (extent > kFoldElements) return false;
    count *= extent;
    if (count > kFoldElements) return false;
  }
  return true;
}

/// Whether the node gives the same result for the same inputs, and that without running a body.
bool foldable(const Node& node) {
  return node.bodies.empty() && !node.is<Random>() && !node.is<Bernoulli>() &&
         !node.is<Multinomial>() && !node.is<Plugin>() && !node.is<Assertion>();
}

}  // namespace

void Emitter::fail(Error error) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

const Shape& Emitter::shape(const Value* value) const {
  static const Shape kScalar;
  return value ? value->type.shape : kScalar;
}

Dim Emitter::extent(const Value* value, int64_t axis) {
  const int64_t position = normalized(axis, rank(value));
  return failed_ ? Dim(1) : shape(value)[static_cast<size_t>(position)];
}

int64_t Emitter::constant_extent(const Value* value, int64_t axis) {
  const Dim dim = extent(value, axis);
  if (!dim.is_constant())
    fail(unsupported("extent {} of shape {} must be known at build time", axis,
                     to_string(shape(value))));
  return dim.is_constant() ? dim.constant() : 1;
}

int64_t Emitter::normalized(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail(user_error("axis {} is out of range for rank {}", axis, rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> Emitter::normalized(std::vector<int64_t> axes, int rank) {
  for (int64_t& axis : axes) axis = normalized(axis, rank);
  return axes;
}

const Tensor* Emitter::contents(const Value* value) {
  if (!value) return nullptr;
  if (const Tensor* tensor = value->constant()) return tensor;
  return fold(value, 0);
}

const Tensor* Emitter::fold(const Value* value, int depth) {
  if (!value) return nullptr;
  if (const Tensor* tensor = value->constant())
    return tensor->count() <= kFoldElements ? tensor : nullptr;
  const auto found = folded_.find(value);
  if (found != folded_.end()) return found->second ? &*found->second : nullptr;
  if (depth > kFoldDepth) return nullptr;
  if (std::optional<Tensor> elements = tensor_of_elements(*value))
    return &*(folded_[value] = std::move(elements));
  const Node* node = value->producer();
  folded_[value] = std::nullopt;
  if (!node || !foldable(*node)) return nullptr;
  for (const Value* output : node->outputs())
    if (!small(output->type)) return nullptr;
  std::vector<const Tensor*> inputs;
  for (const Value* input : node->inputs()) {
    inputs.push_back(fold(input, depth + 1));
    if (input && !inputs.back()) return nullptr;
  }
  Result<std::vector<Tensor>> outputs = evaluate_node(*node, inputs);
  if (!outputs.ok()) return nullptr;
  for (size_t i = 0; i < outputs->size(); ++i)
    folded_[node->outputs()[i]] = std::move((*outputs)[i]);
  return &*folded_[value];
}

std::optional<std::vector<int64_t>> Emitter::known_integers(const Value* value) {
  const Tensor* tensor = contents(value);
  if (!tensor || !is_integer(tensor->type())) return std::nullopt;
  return tensor->to_int64s();
}

std::optional<double> Emitter::known_number(const Value* value) {
  const Tensor* tensor = contents(value);
  if (!tensor || tensor->count() != 1) return std::nullopt;
  return tensor->as_double(0);
}

/// Inference of shapes needs these operands' contents; where they only follow from constants, they
/// become constants.
void Emitter::materialize_shape_operands(OpKind kind, std::vector<Value*>& inputs) {
  const int first = first_shape_operand(kind);
  if (first < 0) return;
  for (size_t i = static_cast<size_t>(first); i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i]->constant()) continue;
    if (const Tensor* tensor = fold(inputs[i], 0)) inputs[i] = constant(*tensor);
  }
}

void Emitter::widen_beside_wider(OpKind kind, std::vector<Value*>& inputs) {
  for (const int i : narrow_beside_wide(kind, inputs))
    inputs[static_cast<size_t>(i)] = cast(inputs[static_cast<size_t>(i)], DataType::kFloat32);
}

std::vector<Value*> Emitter::add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, int count,
                                      std::vector<std::unique_ptr<Graph>> bodies) {
  if (failed_) return {};
  materialize_shape_operands(op->kind(), inputs);
  if (widens_) widen_beside_wider(op->kind(), inputs);
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  const OpInfo& info = op_info(op->kind());
  const auto given = static_cast<int>(inputs.size());
  if (given < info.min_inputs || (info.max_inputs >= 0 && given > info.max_inputs)) {
    fail(user_error("{} inputs were given to {}", given, op->name()));
    return {};
  }
  for (int i = 0; i < info.min_inputs; ++i) {
    if (inputs[static_cast<size_t>(i)] || op->kind() == OpKind::kLoop) continue;
    fail(user_error("input {} of {} is missing", i, op->name()));
    return {};
  }
  Node* node = graph_.add_node(std::move(op), std::move(inputs), count);
  node->bodies = std::move(bodies);
  node->name = label_;
  emitted_.push_back(node);
  if (Status status = infer_node(*node); !status.ok()) {
    fail(status.error());
    return {};
  }
  return node->outputs();
}

Value* Emitter::pointwise(PointwiseFunction function, std::vector<Value*> inputs, double alpha,
                          double beta) {
  return add(Pointwise(function, alpha, beta), std::move(inputs));
}

Value* Emitter::constant(Tensor tensor) {
  if (failed_) return nullptr;
  Value* value = graph_.add_constant(std::move(tensor));
  emitted_.push_back(value->producer());
  return value;
}

Value* Emitter::integers(std::vector<int64_t> values) {
  return constant(Tensor::vector_i64(values));
}
Value* Emitter::integer(int64_t value) {
  return constant(Tensor::scalar_i64(value));
}

Value* Emitter::number(double value, DataType type) {
  Tensor tensor(type, {});
  tensor.set_from_double(0, value);
  return constant(std::move(tensor));
}

Value* Emitter::cast(Value* value, DataType to) {
  if (!value || value->type.type == to) return value;
  return add(Cast(to), {value});
}

Value* Emitter::reshape(Value* value, std::vector<int64_t> extents) {
  Value* to = integers(std::move(extents));
  return add(Reshape{}, {value, to});
}

Value* Emitter::reshape_as(Value* value, Value* like) {
  Value* to = shape_of(like);
  return add(Reshape{}, {value, to});
}

Value* Emitter::transpose(Value* value, std::vector<int64_t> permutation) {
  Transpose op;
  op.permutation = std::move(permutation);
  return add(std::move(op), {value});
}

Value* Emitter::unsqueeze(Value* value, std::vector<int64_t> axes) {
  if (axes.empty()) return value;
  Value* operand = integers(std::move(axes));
  return add(Unsqueeze{}, {value, operand});
}

Value* Emitter::squeeze(Value* value, std::vector<int64_t> axes) {
  Value* operand = integers(std::move(axes));
  return add(Squeeze{}, {value, operand});
}

Value* Emitter::shape_of(Value* value) {
  return add(ShapeOf{}, {value});
}

Value* Emitter::slice(Value* value, int64_t axis, int64_t start, int64_t end, int64_t step) {
  Value* starts = integers({start});
  Value* ends = integers({end});
  Value* axes = integers({axis});
  Value* steps = integers({step});
  return add(Slice{}, {value, starts, ends, axes, steps});
}

Value* Emitter::concat(std::vector<Value*> values, int64_t axis) {
  Concat op;
  op.axis = axis;
  return add(op, std::move(values));
}

Value* Emitter::reduce(ReduceFunction function, Value* value, std::vector<int64_t> axes,
                       bool keep_dims) {
  Reduce op;
  op.function = function;
  op.axes = std::move(axes);
  op.keep_dims = keep_dims;
  op.empty_is_identity = op.axes.empty();
  return add(std::move(op), {value});
}

Value* Emitter::matmul(Value* a, Value* b, bool transpose_a, bool transpose_b) {
  MatMul op;
  op.transpose_a = transpose_a;
  op.transpose_b = transpose_b;
  return add(op, {a, b});
}

Value* Emitter::fill(Value* shape, Tensor value) {
  Fill op;
  op.value = std::move(value);
  return add(std::move(op), {shape});
}

Value* Emitter::filled_like(Value* value, double number, DataType type) {
  Tensor element(type, {});
  element.set_from_double(0, number);
  return fill(shape_of(value), std::move(element));
}

}  // namespace tenon::network
