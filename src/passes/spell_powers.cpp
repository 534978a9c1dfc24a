// x^2 and x^3 become products, which vector units compute and which join others. Must run behind
// the patterns that know powers (normalization, GELU), and before fuse_epilogue.
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

bool spell(Graph& graph, Node& node) {
  if (!is_function(node, k_pow) || !is_real(node.output()->type.type)) return false;
  if (node.output()->type != node.input(0)->type) return false;
  const auto exponent = scalar_of(node.input(1));
  if (exponent != 2.0 && exponent != 3.0) return false;
  Value* x = node.input(0);
  Value* result = add_pointwise(graph, k_mul, {x, x}, node);
  if (exponent == 3.0) result = add_pointwise(graph, k_mul, {result, x}, node);
  stand_in(graph, node, result);
  return true;
}

}  // namespace

bool spell_powers(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return spell(graph, node); });
}

}  // namespace tenon
