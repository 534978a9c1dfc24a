// Einstein summation as slices, transposes, sums, reshapes and a matrix product for each operand
// behind the first (a multiplication where nothing is summed), which have fast kernels and fuse.
// Must run before the passes that move transposes and recognize attention.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "ops/einsum.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// "bqd,bkd->bqk" taken apart. Axes of ellipses have labels that are no letters.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

std::string as_text(const einsum::Labels& labels) {
  std::string text;
  for (const int label : labels)
    text += static_cast<char>(label < einsum::kEllipsis ? label : label - einsum::kEllipsis + 1);
  return text;
}

std::optional<Equation> read_equation(const Node& node) {
  std::vector<Shape> shapes;
  for (const Value* input : node.inputs()) shapes.push_back(input->type.shape);
  const auto read = einsum::read_equation(node.as<Einsum>()->equation, shapes);
  if (!read.ok()) return std::nullopt;
  Equation equation{{}, as_text(read->result)};
  for (const einsum::Labels& labels : read->operands) equation.terms.push_back(as_text(labels));
  return equation;
}

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

/// A value and the label of each of its axes.
struct Labelled {
  Value* value = nullptr;
  std::string labels;

  const Dim& extent(char label) const { return value->type.shape[labels.find(label)]; }
};

using LabelExtents = std::unordered_map<char, Dim>;

/// Labels of a product of two operands: those of both and the result, of the first and the result,
/// of the second and the result, and of the sum.
struct Roles {
  std::string batch, rows, columns, inner;

  Roles(const std::string& a, const std::string& b, const std::string& result) {
    for (const char label : result)
      (!has(b, label) ? rows : !has(a, label) ? columns : batch) += label;
    for (const char label : a)
      if (!has(result, label)) inner += label;
  }
  /// How many of operands and result are transposed.
  int transposes(const std::string& a, const std::string& b, const std::string& result) const {
    return (a != batch + rows + inner) + (b != batch + inner + columns) +
           (result != batch + rows + columns);
  }
};

class Lowering {
 public:
  Lowering(Graph& graph, Node& node, const LabelExtents& extents)
      : graph_(graph), node_(node), extents_(extents) {}

  Value* run(Equation equation) {
    std::vector<Labelled> operands;
    for (size_t i = 0; i < equation.terms.size(); ++i) {
      Labelled operand = without_repeated({node_.input(static_cast<int>(i)), equation.terms[i]});
      while (const std::optional<size_t> axis = first_of_a_pair(operand.labels))
        operand = diagonal(operand, *axis);
      equation.terms[i] = operand.labels;
      operands.push_back(operand);
    }
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i] = without_lonely(operands[i], labels_beside(equation, i, i));
    Labelled total = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) {
      const std::string later = labels_beside(equation, 0, i);
      std::string kept = i + 1 == operands.size() ? equation.result : "";
      if (kept.empty())
        for (const char label : total.labels + operands[i].labels)
          if (has(later, label) && !has(kept, label)) kept += label;
      operands_ = {total, operands[i]};
      total = {product(kept), kept};
    }
    return ordered(total, equation.result).value;
  }

 private:
  Value* add(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    return add_op(graph_, std::move(op), std::move(inputs), node_);
  }

  /// Labels of the result and of the terms but those from `first` to `last`.
  static std::string labels_beside(const Equation& equation, size_t first, size_t last) {
    std::string labels = equation.result;
    for (size_t i = 0; i < equation.terms.size(); ++i)
      if (i < first || i > last) labels += equation.terms[i];
    return labels;
  }

  /// Without axes of one element that repeat others: of the same label, or of another operand.
  Labelled without_repeated(const Labelled& operand) {
    std::string left;
    Shape shape;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      const char label = operand.labels[i];
      const Dim& extent = operand.value->type.shape[i];
      if (extent == Dim(1) && (has(left, label) || !(extents_.at(label) == extent))) continue;
      left += label;
      shape.push_back(extent);
    }
    return {reshaped(operand.value, shape), left};
  }

  /// The axis whose label a later one has as well.
  static std::optional<size_t> first_of_a_pair(const std::string& labels) {
    for (size_t i = 0; i < labels.size(); ++i)
      if (labels.find(labels[i], i + 1) != std::string::npos) return i;
    return std::nullopt;
  }

  /// Of two axes of one label: each so many-th element where both lie side by side as one axis.
  Labelled diagonal(const Labelled& operand, size_t first) {
    const char label = operand.labels[first];
    const size_t second = operand.labels.find(label, first + 1);
    auto transpose = std::make_unique<Transpose>();
    std::string left;
    Shape shape;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (i == first || i == second) continue;
      transpose->permutation.push_back(static_cast<int64_t>(i));
      left += operand.labels[i];
      shape.push_back(operand.value->type.shape[i]);
    }
    const auto axis = static_cast<int64_t>(left.size());
    for (const size_t i : {first, second})
      transpose->permutation.push_back(static_cast<int64_t>(i));
    const Dim& extent = operand.extent(label);
    shape.push_back(extent * extent);
    Value* rows = reshaped(add(std::move(transpose), {operand.value}), shape);
    if (!extent.is_constant()) return {open_diagonal(rows, axis, extent), left + label};
    const int64_t size = extent.constant();
    return {add(std::make_unique<Slice>(),
                {rows, add_integers(graph_, {0}), add_integers(graph_, {size * size}),
                 add_integers(graph_, {axis}), add_integers(graph_, {size + 1})}),
            left + label};
  }

  /// The same for an extent that is open, from computed places: steps of slices are constants.
  Value* open_diagonal(Value* rows, int64_t axis, const Dim& extent) {
    Value* numbers =
        add(std::make_unique<RangeOf>(),
            {add_integers(graph_, {0}), add_shape(graph_, {extent}), add_integers(graph_, {1})});
    Value* places = add_pointwise(graph_, PointwiseFunction::k_mul,
                                  {numbers, add_shape(graph_, {extent + Dim(1)})}, node_);
    auto gather = std::make_unique<Gather>();
    gather->axis = axis;
    Shape shape = rows->type.shape;
    shape.back() = extent;
    return reshaped(add(std::move(gather), {rows, places}), shape);
  }

  /// Sums over labels that nothing else has.
  Labelled without_lonely(Labelled operand, const std::string& others) {
    auto sum = std::make_unique<Reduce>();
    sum->keep_dims = false;
    std::string left;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (has(others, operand.labels[i]))
        left += operand.labels[i];
      else
        sum->axes.push_back(static_cast<int64_t>(i));
    }
    if (sum->axes.empty()) return operand;
    return {add(std::move(sum), {operand.value}), left};
  }

  Labelled ordered(const Labelled& operand, const std::string& order) {
    if (operand.labels == order) return operand;
    auto transpose = std::make_unique<Transpose>();
    for (const char label : order)
      transpose->permutation.push_back(static_cast<int64_t>(operand.labels.find(label)));
    return {add(std::move(transpose), {operand.value}), order};
  }

  Shape shape_of(const std::string& labels) const {
    Shape shape;
    for (const char label : labels)
      shape.push_back(has(operands_[0].labels, label) ? operands_[0].extent(label)
                                                      : operands_[1].extent(label));
    return shape;
  }

  Value* reshaped(Value* value, const Shape& shape) {
    return tenon::reshaped(graph_, value, shape, node_);
  }

  /// As a stack of matrices: `batch`, then the products of the extents of `rows` and `columns`.
  Value* matrices(const Labelled& operand, const std::string& batch, const std::string& rows,
                  const std::string& columns) {
    Shape shape = shape_of(batch);
    for (const std::string& side : {rows, columns}) {
      Dim extent = 1;
      for (const Dim& one : shape_of(side)) extent = extent * one;
      shape.push_back(extent);
    }
    return reshaped(ordered(operand, batch + rows + columns).value, shape);
  }

  /// A product in which nothing is summed.
  Value* multiplied(const std::string& result) {
    std::vector<Value*> factors;
    for (const Labelled& operand : operands_) {
      std::string own;
      Shape shape;
      for (const char label : result) {
        const bool is_there = has(operand.labels, label);
        if (is_there) own += label;
        if (!own.empty()) shape.push_back(is_there ? operand.extent(label) : Dim(1));
      }
      factors.push_back(reshaped(ordered(operand, own).value, shape));
    }
    return add_pointwise(graph_, PointwiseFunction::k_mul, std::move(factors), node_);
  }

  Value* product(const std::string& result) {
    const std::string &a = operands_[0].labels, &b = operands_[1].labels;
    if (Roles(a, b, result).inner.empty()) return multiplied(result);
    // The product of transposed operands in the other order is the transposed one.
    if (Roles(b, a, result).transposes(b, a, result) < Roles(a, b, result).transposes(a, b, result))
      std::swap(operands_[0], operands_[1]);
    const auto& [batch, rows, columns, inner] = Roles(a, b, result);
    Value* left = matrices(operands_[0], batch, rows, inner);
    Value* right = matrices(operands_[1], batch, inner, columns);
    Value* matrix = add(std::make_unique<MatMul>(), {left, right});
    // Sums of short integers have 32 bits; those of an Einsum wrap.
    if (const DataType type = left->type.type; matrix->type.type != type)
      matrix = add(std::make_unique<Cast>(type), {matrix});
    matrix = reshaped(matrix, shape_of(batch + rows + columns));
    return ordered({matrix, batch + rows + columns}, result).value;
  }

  Graph& graph_;
  Node& node_;
  const LabelExtents& extents_;
  std::array<Labelled, 2> operands_;  ///< Of the product at hand.
};

/// The extent of each label, 1 where all are; nothing where it is open whether operands agree.
std::optional<LabelExtents> extents_of(const Equation& equation, const Node& node) {
  LabelExtents extents;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const std::string& term = equation.terms[i];
    for (size_t axis = 0; axis < term.size(); ++axis) {
      const Dim& extent = node.input(static_cast<int>(i))->type.shape[axis];
      auto [entry, is_new] = extents.emplace(term[axis], extent);
      if (is_new || entry->second == extent || extent == Dim(1)) continue;
      if (!(entry->second == Dim(1))) return std::nullopt;
      entry->second = extent;
    }
  }
  for (const char label : equation.result)
    if (!extents.contains(label)) return std::nullopt;
  return extents;
}

bool rewrite(Graph& graph, Node& node) {
  const auto* op = node.as<Einsum>();
  if (op == nullptr) return false;
  const auto equation = read_equation(node);
  if (!equation) return false;
  const auto extents = extents_of(*equation, node);
  if (!extents) return false;
  Value* result = Lowering(graph, node, *extents).run(*equation);
  if (result == node.input(0)) result = add_op(graph, std::make_unique<Identity>(), {result}, node);
  stand_in(graph, node, result);
  return true;
}

}  // namespace

bool lower_einsum(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return rewrite(graph, node); });
}

}  // namespace tenon
