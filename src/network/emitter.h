#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/math.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::network {

/// Contents of values that follow from constants, evaluated when asked for.
using FoldCache = std::unordered_map<const Value*, std::optional<Tensor>>;

/// Appends inferred nodes to a graph. The first failure sticks: from then on every call does
/// nothing and returns null, so that an operator's import reads as a straight line. A null operand
/// stands for an absent one.
class Emitter {
 public:
  /// `label` names nodes in messages until they get a name of their own.
  Emitter(Graph& graph, FoldCache& folded, std::string label = {})
      : graph_(graph), folded_(folded), label_(std::move(label)) {}
  virtual ~Emitter() = default;

  /// Of a weakly typed network, whose inputs and weights of 16 bits are computed with in 32: sums,
  /// products and the like take casts to 16 bits beside them as 32, too.
  void set_widens(bool widens) { widens_ = widens; }
  Graph& graph() const { return graph_; }
  const std::string& label() const { return label_; }
  bool ok() const { return !failed_; }
  /// The first failure; only after one.
  const Error& error() const { return error_; }
  const std::string& message() const { return error_.message; }
  void fail(Error error);

  // Facts. Null values have rank 0.
  const Shape& shape(const Value* value) const;
  int rank(const Value* value) const { return static_cast<int>(shape(value).size()); }
  DataType type(const Value* value) const { return value ? value->type.type : DataType::kFloat32; }
  /// Extent of an axis, which may be negative.
  Dim extent(const Value* value, int64_t axis);
  /// The same, when it must be a constant.
  int64_t constant_extent(const Value* value, int64_t axis);
  /// axis in [-rank, rank) to [0, rank).
  int64_t normalized(int64_t axis, int rank);
  std::vector<int64_t> normalized(std::vector<int64_t> axes, int rank);
  /// Contents, when they follow from constants (evaluated here, up to a few thousand elements).
  const Tensor* contents(const Value* value);
  std::optional<std::vector<int64_t>> known_integers(const Value* value);
  std::optional<double> known_number(const Value* value);

  // Nodes.
  template <class T> Value* add(T op, std::vector<Value*> inputs) {
    std::vector<Value*> outputs =
        add_node(std::make_unique<T>(std::move(op)), std::move(inputs), 1);
    return outputs.empty() ? nullptr : outputs[0];
  }
  /// Always returns `count` values, null after a failure.
  template <class T> std::vector<Value*> add_multiple(T op, std::vector<Value*> inputs, int count) {
    std::vector<Value*> outputs =
        add_node(std::make_unique<T>(std::move(op)), std::move(inputs), count);
    outputs.resize(static_cast<size_t>(count), nullptr);
    return outputs;
  }
  /// With bodies; empty after a failure.
  std::vector<Value*> add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, int count,
                               std::vector<std::unique_ptr<Graph>> bodies = {});
  Value* pointwise(PointwiseFunction function, std::vector<Value*> inputs, double alpha = 0,
                   double beta = 0);

  // Shorthands.
  Value* constant(Tensor tensor);
  Value* integers(std::vector<int64_t> values);
  Value* integer(int64_t value);
  /// A scalar of `type`.
  Value* number(double value, DataType type);
  Value* cast(Value* value, DataType to);
  Value* reshape(Value* value, std::vector<int64_t> extents);
  /// To extents that may be symbolic (whose number of elements the caller knows to be equal).
  Value* reshape_as(Value* value, Value* like);
  Value* transpose(Value* value, std::vector<int64_t> permutation);
  Value* unsqueeze(Value* value, std::vector<int64_t> axes);
  Value* squeeze(Value* value, std::vector<int64_t> axes);
  Value* shape_of(Value* value);
  Value* slice(Value* value, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  Value* concat(std::vector<Value*> values, int64_t axis);
  Value* reduce(ReduceFunction function, Value* value, std::vector<int64_t> axes, bool keep_dims);
  Value* matmul(Value* a, Value* b, bool transpose_a = false, bool transpose_b = false);
  Value* fill(Value* shape, Tensor value);
  Value* filled_like(Value* value, double number, DataType type);

  Value* neg(Value* x) { return pointwise(PointwiseFunction::k_neg, {x}); }
  Value* abs(Value* x) { return pointwise(PointwiseFunction::k_abs, {x}); }
  Value* sqrt(Value* x) { return pointwise(PointwiseFunction::k_sqrt, {x}); }
  Value* exp(Value* x) { return pointwise(PointwiseFunction::k_exp, {x}); }
  Value* add(Value* x, Value* y) { return pointwise(PointwiseFunction::k_add, {x, y}); }
  Value* sub(Value* x, Value* y) { return pointwise(PointwiseFunction::k_sub, {x, y}); }
  Value* mul(Value* x, Value* y) { return pointwise(PointwiseFunction::k_mul, {x, y}); }
  Value* div(Value* x, Value* y) { return pointwise(PointwiseFunction::k_div, {x, y}); }
  Value* min(Value* x, Value* y) { return pointwise(PointwiseFunction::k_min, {x, y}); }
  Value* max(Value* x, Value* y) { return pointwise(PointwiseFunction::k_max, {x, y}); }
  Value* equal(Value* x, Value* y) { return pointwise(PointwiseFunction::k_equal, {x, y}); }
  Value* where(Value* c, Value* x, Value* y) {
    return pointwise(PointwiseFunction::k_where, {c, x, y});
  }
  /// x op (a number of x's type).
  Value* mul(Value* x, double y) { return mul(x, number(y, type(x))); }
  Value* add(Value* x, double y) { return add(x, number(y, type(x))); }

  /// Nodes appended so far, for naming.
  const std::vector<Node*>& emitted() const { return emitted_; }

 private:
  void widen_beside_wider(OpKind kind, std::vector<Value*>& inputs);
  const Tensor* fold(const Value* value, int depth);
  void materialize_shape_operands(OpKind kind, std::vector<Value*>& inputs);

  Graph& graph_;
  FoldCache& folded_;
  std::string label_;
  std::vector<Node*> emitted_;
  bool failed_ = false, widens_ = false;
  Error error_;
};

}  // namespace tenon::network
