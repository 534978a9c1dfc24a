// Einstein summation as transposes, sums, reshapes and a matrix product for each operand behind the
// first, which have fast kernels and fuse. Must run before the passes that move transposes and
// recognize attention.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/ascii.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// "bqd,bkd->bqk" taken apart. No ellipses, no label twice in a term.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

bool is_plain(const std::string& term) {
  for (size_t i = 0; i < term.size(); ++i)
    if (!is_letter(term[i]) || term.find(term[i], i + 1) != std::string::npos) return false;
  return true;
}

std::optional<Equation> read_equation(std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation{{""}, text.substr(arrow + 2)};
  for (size_t i = 0; i < arrow; ++i)
    text[i] == ',' ? equation.terms.emplace_back() : equation.terms.back() += text[i];
  if (!is_plain(equation.result)) return std::nullopt;
  if (!std::all_of(equation.terms.begin(), equation.terms.end(), is_plain)) return std::nullopt;
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

class Lowering {
 public:
  Lowering(Graph& graph, Node& node) : graph_(graph), node_(node) {}

  Value* run(const Equation& equation) {
    std::vector<Labelled> operands;
    for (size_t i = 0; i < equation.terms.size(); ++i)
      operands.push_back(without_lonely({node_.input(static_cast<int>(i)), equation.terms[i]},
                                        labels_beside(equation, i, i)));
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
    if (value->type.shape == shape) return value;
    auto reshape = std::make_unique<Reshape>();
    reshape->allow_zero = true;
    return add(std::move(reshape), {value, add_shape(graph_, shape)});
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

  Value* product(const std::string& result) {
    std::string batch, rows, columns, inner;
    const std::string &a = operands_[0].labels, &b = operands_[1].labels;
    for (const char label : result)
      (!has(b, label) ? rows : !has(a, label) ? columns : batch) += label;
    for (const char label : a)
      if (!has(result, label)) inner += label;
    Value* left = matrices(operands_[0], batch, rows, inner);
    Value* right = matrices(operands_[1], batch, inner, columns);
    Value* matrix = add(std::make_unique<MatMul>(), {left, right});
    matrix = reshaped(matrix, shape_of(batch + rows + columns));
    return ordered({matrix, batch + rows + columns}, result).value;
  }

  Graph& graph_;
  Node& node_;
  std::array<Labelled, 2> operands_;  ///< Of the product at hand.
};

/// Operands that agree about the extents of common labels; a label of the result is an operand's.
bool fits(const Equation& equation, const Node& node) {
  for (size_t i = 0; i < equation.terms.size(); ++i)
    if (node.input(static_cast<int>(i))->type.shape.size() != equation.terms[i].size())
      return false;
  for (const char label : equation.result)
    if (std::none_of(equation.terms.begin(), equation.terms.end(),
                     [&](const std::string& term) { return has(term, label); }))
      return false;
  std::unordered_map<char, Dim> extents;
  for (size_t i = 0; i < equation.terms.size(); ++i)
    for (size_t axis = 0; axis < equation.terms[i].size(); ++axis) {
      const Dim& extent = node.input(static_cast<int>(i))->type.shape[axis];
      if (!(extents.emplace(equation.terms[i][axis], extent).first->second == extent)) return false;
    }
  return true;
}

bool rewrite(Graph& graph, Node& node) {
  const auto* op = node.as<Einsum>();
  if (op == nullptr) return false;
  if (!is_real(node.input(0)->type.type)) return false;
  const auto equation = read_equation(op->equation);
  if (!equation || equation->terms.size() != node.inputs().size() || !fits(*equation, node))
    return false;
  Value* result = Lowering(graph, node).run(*equation);
  if (result == node.input(0)) return false;
  stand_in(graph, node, result);
  return true;
}

}  // namespace

bool lower_einsum(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return rewrite(graph, node); });
}

}  // namespace tenon
