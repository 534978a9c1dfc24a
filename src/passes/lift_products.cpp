// A product with constant columns of a tensor whose rows were permuted is the permuted product:
// matmul(reshape(transpose(x)), w) becomes reshape(transpose(matmul(x, w))), so that the transpose
// meets the one that undoes it (sequences first around attention). The rows may be dequantized in
// between, and so may the columns. Must run after recognize_attention and simplify, before
// sink_reshapes.
#include <algorithm>

#include "passes/match.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// A transpose that leaves the last axes of its operand in place, and maybe a reshape behind it
/// that joins those to columns and some of the others.
struct PermutedRows {
  Node* transpose = nullptr;
  int64_t rows = 0;  ///< Axes before the columns.
};

std::optional<PermutedRows> permuted_rows(const Graph& graph, Value* value) {
  Node* node = value->producer();
  if (node == nullptr || only_user(graph, value) == nullptr) return std::nullopt;
  Shape joined = value->type.shape;
  if (is_reshape(node)) {
    value = node->input(0);
    node = value->producer();
    if (node == nullptr || only_user(graph, value) == nullptr) return std::nullopt;
  }
  const auto* transpose = node->as<Transpose>();
  if (transpose == nullptr || transpose->permutation.empty()) return std::nullopt;
  const auto groups = joined_axes(node->output()->type.shape, joined);
  if (!groups.has_value() || groups->empty() || groups->back().empty()) return std::nullopt;
  PermutedRows result{node, groups->back().front()};
  const auto& order = transpose->permutation;
  for (size_t i = static_cast<size_t>(result.rows); i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return std::nullopt;
  return result.rows > 1 ? std::optional(result) : std::nullopt;
}

/// A constant, or one that is dequantized, which may be transposed.
bool is_constant_matrix(const Value* value) {
  if (value->type.shape.size() != 2) return false;
  if (produced_by<Transpose>(value) != nullptr) value = value->producer()->input(0);
  if (produced_by<Dequantize>(value) != nullptr) value = value->producer()->input(0);
  return value->constant() != nullptr;
}

/// The dequantization by known numbers, the same for all elements, that alone reads its operand and
/// gives the value to one node; null where there is none.
const Node* rounding_of(const Graph& graph, const Value* value) {
  const Node* node = value->producer();
  const bool fits = node != nullptr && node->is<Dequantize>() && is_per_tensor(*node) &&
                    only_user(graph, value) != nullptr;
  return fits ? node : nullptr;
}

bool lift(Graph& graph, Node& node) {
  const auto* matmul = node.as<MatMul>();
  if (matmul == nullptr || matmul->transpose_a || !is_constant_matrix(node.input(1)) ||
      node.input(0)->type.shape.size() < 2)
    return false;
  const Node* rounding = rounding_of(graph, node.input(0));
  const auto found = permuted_rows(graph, rounding != nullptr ? rounding->input(0) : node.input(0));
  if (!found.has_value()) return false;
  Value* x = found->transpose->input(0);
  Shape flat(x->type.shape.begin(), x->type.shape.begin() + found->rows);
  flat.push_back(node.input(0)->type.shape.back());
  Value* rows = reshaped(graph, x, flat, *found->transpose);
  if (rounding != nullptr) {
    std::vector<Value*> inputs(rounding->inputs().begin(), rounding->inputs().end());
    inputs[0] = rows;
    rows = add_op(graph, rounding->op->clone(), inputs, *rounding);
  }
  Value* product = add_op(graph, node.op->clone(), {rows, node.input(1)}, node);
  auto back = std::make_unique<Transpose>();
  const auto& order = found->transpose->as<Transpose>()->permutation;
  back->permutation.assign(order.begin(), order.begin() + found->rows);
  back->permutation.push_back(found->rows);
  Value* result = add_op(graph, std::move(back), {product}, *found->transpose);
  result = reshaped(graph, result, node.output()->type.shape, node);
  stand_in(graph, node, result);
  return true;
}

}  // namespace

bool lift_products(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context,
                          [&](Node& node) { return node.is<MatMul>() && lift(graph, node); });
}

}  // namespace tenon
