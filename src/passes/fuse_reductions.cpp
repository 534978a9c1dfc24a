// Reductions and the scalar functions around them that are one operator: sum of absolute values
// (L1), sum of squares, its root (L2), logarithm of a sum, of a sum of exponentials, softmax and
// its logarithm. A reduction of a transposed tensor reduces first and transposes the result. The
// places of the largest elements of softmax are those of its operand.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// The operand that the function is applied to inside a sum, and the reduction that is.
Value* inside_sum(const Value* value, ReduceFunction& function) {
  if (const Node* node = pointwise_producer(value, k_abs)) {
    function = ReduceFunction::kL1;
    return node->input(0);
  }
  if (const Node* node = pointwise_producer(value, k_mul);
      node != nullptr && node->input(0) == node->input(1)) {
    function = ReduceFunction::kSumSquare;
    return node->input(0);
  }
  if (const Node* node = pointwise_producer(value, k_pow);
      node != nullptr && is_scalar(node->input(1), 2) && is_real(value->type.type)) {
    function = ReduceFunction::kSumSquare;
    return node->input(0);
  }
  return nullptr;
}

Value* replaced(Graph& graph, const Node& reduce, ReduceFunction function, Value* operand,
                const Node& like) {
  auto op = std::make_unique<Reduce>(*reduce.as<Reduce>());
  op->function = function;
  std::vector<Value*> inputs = {operand};
  if (reduce.has_input(1)) inputs.push_back(reduce.input(1));
  Value* result = add_op(graph, std::move(op), std::move(inputs), like);
  add_origins(*result->producer(), reduce);
  return result;
}

/// sum(|x|), sum(x x).
Value* fuse_sum(Graph& graph, const Node& node) {
  const auto* reduce = node.as<Reduce>();
  if (reduce == nullptr || reduce->function != ReduceFunction::kSum) return nullptr;
  ReduceFunction function{};
  Value* operand = inside_sum(node.input(0), function);
  return operand == nullptr ? nullptr : replaced(graph, node, function, operand, node);
}

/// sqrt(sum of squares), log(sum), log(sum(exp)), log(softmax).
Value* fuse_outer(Graph& graph, const Node& node) {
  const bool root = is_function(node, k_sqrt), log = is_function(node, k_log);
  if ((!root && !log) || only_user(graph, node.input(0)) == nullptr) return nullptr;
  const Node* inner = node.input(0)->producer();
  if (inner == nullptr) return nullptr;
  if (const auto* softmax = inner->as<Softmax>(); softmax != nullptr && log && !softmax->log) {
    auto op = std::make_unique<Softmax>(*softmax);
    op->log = true;
    Value* result = add_op(graph, std::move(op), {inner->input(0)}, *inner);
    add_origins(*result->producer(), node);
    return result;
  }
  const auto* reduce = inner->as<Reduce>();
  if (reduce == nullptr) return nullptr;
  if (root && reduce->function == ReduceFunction::kSumSquare)
    return replaced(graph, *inner, ReduceFunction::kL2, inner->input(0), node);
  if (!log || reduce->function != ReduceFunction::kSum) return nullptr;
  const Node* exp = pointwise_producer(inner->input(0), k_exp);
  if (exp != nullptr)
    return replaced(graph, *inner, ReduceFunction::kLogSumExp, exp->input(0), node);
  return replaced(graph, *inner, ReduceFunction::kLogSum, inner->input(0), node);
}

/// x - max(x), as softmax has it against overflow: x, else the value itself.
Value* without_largest(Value* value, const Reduce& sum, const Node& sum_node) {
  const Node* difference = pointwise_producer(value, k_sub);
  if (difference == nullptr) return value;
  const Node* largest = difference->input(1)->producer();
  const auto* reduce = largest == nullptr ? nullptr : largest->as<Reduce>();
  if (reduce == nullptr || reduce->function != ReduceFunction::kMax || !reduce->keep_dims)
    return value;
  const bool same_axes = reduce->axes == sum.axes && largest->input(1) == sum_node.input(1);
  return same_axes && largest->input(0) == difference->input(0) ? difference->input(0) : value;
}

/// exp(x - max(x)) / sum(exp(x - max(x))).
Value* fuse_softmax(Graph& graph, const Node& node) {
  if (!is_function(node, k_div)) return nullptr;
  const Node* exp = pointwise_producer(node.input(0), k_exp);
  const Node* sum = node.input(1)->producer();
  const auto* reduce = sum == nullptr ? nullptr : sum->as<Reduce>();
  if (exp == nullptr || reduce == nullptr || reduce->function != ReduceFunction::kSum ||
      !reduce->keep_dims || reduce->axes.empty() || sum->has_input(1) ||
      sum->input(0) != exp->output())
    return nullptr;
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = reduce->axes;
  Value* operand = without_largest(exp->input(0), *reduce, *sum);
  return add_op(graph, std::move(softmax), {operand}, node);
}

/// reduce(transpose(x)) that keeps dimensions is transpose(reduce(x)).
Value* reduce_first(Graph& graph, const Node& node) {
  const auto* reduce = node.as<Reduce>();
  const auto* transpose = reduce == nullptr ? nullptr : produced_by<Transpose>(node.input(0));
  if (transpose == nullptr || !reduce->keep_dims || node.has_input(1) || reduce->axes.empty() ||
      transpose->permutation.empty() || only_user(graph, node.input(0)) == nullptr)
    return nullptr;
  const Node& before = *node.input(0)->producer();
  auto op = std::make_unique<Reduce>(*reduce);
  for (int64_t& axis : op->axes)
    axis = transpose->permutation[axis < 0 ? axis + transpose->permutation.size() : axis];
  Value* reduced = add_op(graph, std::move(op), {before.input(0)}, node);
  return add_op(graph, transpose->clone(), {reduced}, before);
}

int64_t positive(int64_t axis, const Value* value) {
  return axis < 0 ? axis + static_cast<int64_t>(value->type.shape.size()) : axis;
}

/// Whether the node asks only for the order of its operand along that axis.
std::optional<int64_t> ordered_axis(const Graph& graph, const Node& node) {
  if (const auto* arg = node.as<ArgReduce>()) return arg->axis;
  const auto* top = node.as<TopK>();
  const bool values =
      top != nullptr && (!node.output(0)->uses().empty() || graph.is_output(node.output(0)));
  return top == nullptr || values ? std::nullopt : std::optional(top->axis);
}

/// Softmax keeps the order.
bool order_without_softmax(const Graph& graph, Node& node) {
  const auto axis = ordered_axis(graph, node);
  const auto* softmax = axis.has_value() ? produced_by<Softmax>(node.input(0)) : nullptr;
  if (softmax == nullptr || only_user(graph, node.input(0)) == nullptr) return false;
  const bool along = std::any_of(softmax->axes.begin(), softmax->axes.end(), [&](int64_t other) {
    return positive(other, node.input(0)) == positive(*axis, node.input(0));
  });
  if (!along) return false;
  const Node& before = *node.input(0)->producer();
  node.set_input(0, before.input(0));
  // No node reads the values any more, which are no shares now.
  if (node.is<TopK>()) node.output(0)->name.clear();
  add_origins(node, before);
  return true;
}

/// More values than this are chosen by kernels that sort whole lines.
constexpr int64_t kMaxChosen = 1024;

/// The probabilities of the likeliest: softmax of the chosen alone needs the sum of all, not their
/// probabilities.
bool choose_from_scores(const Graph& graph, Node& node) {
  auto* top = node.as<TopK>();
  const auto* softmax = top == nullptr ? nullptr : produced_by<Softmax>(node.input(0));
  if (softmax == nullptr || top->softmax || only_user(graph, node.input(0)) == nullptr)
    return false;
  const DataType type = node.input(0)->type.type;
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const Tensor* k = node.input(1)->constant();
  const bool rows = softmax->axes.size() == 1 &&
                    positive(softmax->axes[0], node.input(0)) == rank - 1 &&
                    positive(top->axis, node.input(0)) == rank - 1;
  if (!rows || k == nullptr || k->count() != 1 || k->as_int64(0) > kMaxChosen ||
      (type != DataType::kFloat32 && type != DataType::kFloat16 && type != DataType::kBFloat16))
    return false;
  const Node& before = *node.input(0)->producer();
  top->softmax = true, top->log = softmax->log;
  node.set_input(0, before.input(0));
  node.name = before.name + " + " + node.name;
  add_origins(node, before);
  return true;
}

/// The only other user of a value that `node` uses, else null.
const Node* other_user(const Graph& graph, const Value* value, const Node& node) {
  if (value->uses().size() != 2 || graph.is_output(value)) return nullptr;
  for (const Use& use : value->uses())
    if (use.node != &node) return use.node;
  return nullptr;
}

/// p / sum(p) of the likeliest, as routers share a token among experts: softmax of their scores.
Value* share_among_chosen(Graph& graph, const Node& node) {
  if (!is_function(node, k_div) || node.input(0)->producer() == nullptr) return nullptr;
  Node& choice = *node.input(0)->producer();
  auto* top = choice.as<TopK>();
  const Node* sum = node.input(1)->producer();
  const auto* reduce = sum == nullptr ? nullptr : sum->as<Reduce>();
  if (top == nullptr || !top->softmax || top->log || node.input(0) != choice.output(0) ||
      reduce == nullptr || reduce->function != ReduceFunction::kSum || !reduce->keep_dims ||
      sum->has_input(1) || reduce->axes.size() != 1 || sum->input(0) != choice.output(0) ||
      positive(reduce->axes[0], choice.output(0)) != positive(top->axis, choice.output(0)) ||
      other_user(graph, choice.output(0), node) != sum || only_user(graph, sum->output()) != &node)
    return nullptr;
  top->softmax = false;
  choice.output(0)->name.clear();
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = reduce->axes;
  return add_op(graph, std::move(softmax), {choice.output(0)}, node);
}

}  // namespace

bool fuse_reductions(Graph& graph, PassContext& context) {
  // In order, so that a sum is met before the function around it.
  return for_each_fusible(graph, context, [&](Node& node) {
    if (order_without_softmax(graph, node)) return context.applied(node.name + " needs no softmax");
    if (choose_from_scores(graph, node)) return context.applied(node.name);
    Value* result = fuse_sum(graph, node);
    if (result == nullptr) result = fuse_outer(graph, node);
    if (result == nullptr) result = fuse_softmax(graph, node);
    if (result == nullptr) result = share_among_chosen(graph, node);
    if (result == nullptr) result = reduce_first(graph, node);
    if (result == nullptr) return false;
    result->name = node.output()->name;
    graph.replace_uses(node.output(), result);
    return context.applied(fmt::format("{} is {}", node.name, result->producer()->op->name()));
  });
}

}  // namespace tenon
