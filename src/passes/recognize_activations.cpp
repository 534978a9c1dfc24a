// Products that are one scalar function: GELU (erf and tanh), SiLU, Mish, hard swish, however the
// factors are nested; sigmoid, SiLU and softplus by exponentials, leaky ReLU by a choice. Must run
// before fuse_epilogue.
#include <algorithm>
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

bool near(double a, double b) {
  return std::abs(a - b) <= 2e-3 * std::abs(b);
}

/// The function that a product turned out to be.
struct Match {
  PointwiseFunction function = k_relu;
  double alpha = 0;
  Value* argument = nullptr;
};

/// The operand of `1 + f(...)`, for either order.
Value* one_plus(const Value* value, PointwiseFunction function) {
  const Node* sum = pointwise_producer(value, k_add);
  if (sum == nullptr) return nullptr;
  for (int i = 0; i < 2; ++i)
    if (is_scalar(sum->input(i), 1))
      if (const Node* inner = pointwise_producer(sum->input(1 - i), function))
        return inner->input(0);
  return nullptr;
}

/// value == c * x^n for the given x; returns c, or nothing.
std::optional<double> monomial(const Graph& graph, Value* value, const Value* x, int power) {
  if (value == x) return power == 1 ? std::optional<double>(1) : std::nullopt;
  Product product = product_of(graph, value);
  int found = 0;
  for (const Value* part : product.values) {
    if (part == x) {
      ++found;
    } else if (const Node* raised = pointwise_producer(part, k_pow);
               raised != nullptr && raised->input(0) == x) {
      const auto exponent = scalar_of(raised->input(1));
      if (!exponent.has_value() || *exponent != std::floor(*exponent)) return std::nullopt;
      found += static_cast<int>(*exponent);
    } else if (const auto inner =
                   part->producer() != nullptr && is_function(*part->producer(), k_mul)
                       ? monomial(graph, const_cast<Value*>(part), x, 2)
                       : std::nullopt) {
      product.factor *= *inner;
      found += 2;
    } else {
      return std::nullopt;
    }
  }
  return found == power ? std::optional<double>(product.factor) : std::nullopt;
}

/// u == sqrt(2/pi) * (x + 0.044715 x^3), or sqrt(2/pi) * x * (1 + 0.044715 x^2).
bool is_gelu_cubic(const Graph& graph, Value* u, const Value* x) {
  const Product outer = product_of(graph, u);
  if (!near(outer.factor, 0.7978845608)) return false;
  for (Value* part : outer.values) {
    const Node* sum = pointwise_producer(part, k_add);
    if (sum == nullptr) continue;
    for (int i = 0; i < 2; ++i) {
      Value* other = sum->input(1 - i);
      if (outer.values.size() == 1 && sum->input(i) == x) {
        const auto cubic = monomial(graph, other, x, 3);
        if (cubic.has_value() && near(*cubic, 0.044715)) return true;
      }
      const bool times_x =
          outer.values.size() == 2 && std::count(outer.values.begin(), outer.values.end(), x) == 1;
      if (times_x && is_scalar(sum->input(i), 1)) {
        const auto square = monomial(graph, other, x, 2);
        if (square.has_value() && near(*square, 0.044715)) return true;
      }
    }
  }
  return false;
}

/// f for value == 1 + exp(f x), and x.
struct OnePlusExp {
  double factor = 0;
  Value* argument = nullptr;
};

std::optional<OnePlusExp> one_plus_exp(const Graph& graph, const Value* value) {
  Value* u = one_plus(value, k_exp);
  if (u == nullptr) return std::nullopt;
  const Product product = product_of(graph, u);
  if (product.values.size() != 1) return std::nullopt;
  return OnePlusExp{product.factor, product.values[0]};
}

/// The sum of node == 1 / (1 + exp(f x)).
std::optional<OnePlusExp> logistic(const Graph& graph, const Node* node) {
  if (node == nullptr) return std::nullopt;
  if (is_function(*node, k_reciprocal)) return one_plus_exp(graph, node->input(0));
  if (!is_function(*node, k_div) || !is_scalar(node->input(0), 1)) return std::nullopt;
  return one_plus_exp(graph, node->input(1));
}

/// x / (1 + exp(-a x)) is SiLU, 1 / (1 + exp(-x)) the sigmoid.
std::optional<Match> match_quotient(const Graph& graph, const Node& root) {
  if (const auto sum = logistic(graph, &root); sum.has_value() && sum->factor == -1)
    return Match{k_sigmoid, 0, sum->argument};
  if (!is_function(root, k_div)) return std::nullopt;
  const auto sum = one_plus_exp(graph, root.input(1));
  if (!sum.has_value() || root.input(0) != sum->argument) return std::nullopt;
  return Match{k_swish, -sum->factor, sum->argument};
}

/// x of log(1 + exp(x)), which the softplus is where that does not overflow; else null.
Value* logarithm_of_exponential(const Graph& graph, const Node* node) {
  if (node == nullptr || !is_function(*node, k_log)) return nullptr;
  const auto sum = one_plus_exp(graph, node->input(0));
  return sum.has_value() && sum->factor == 1 ? sum->argument : nullptr;
}

/// max(x, a x) with a between 0 and 1, and a choice between x and a x by the sign of x.
std::optional<Match> match_leaky(const Graph& graph, const Node& root) {
  const bool chooses = is_function(root, k_where);
  if (!chooses && !is_function(root, k_max)) return std::nullopt;
  Node* comparison = chooses ? root.input(0)->producer() : nullptr;
  for (int i = 0; i < 2; ++i) {
    Value *x = root.input(chooses ? 1 + i : i), *other = root.input(chooses ? 2 - i : 1 - i);
    if (scalar_of(other).has_value()) continue;
    const auto slope = monomial(graph, other, x, 1);
    if (other == x || !slope.has_value()) continue;
    if (!chooses) {
      if (*slope < 0 || *slope > 1) continue;
      return Match{k_leaky_relu, *slope, x};
    }
    if (comparison == nullptr || comparison->inputs().size() != 2 || comparison->input(0) != x ||
        scalar_of(comparison->input(1)) != 0.0)
      continue;
    const bool above =
        is_function(*comparison, k_greater) || is_function(*comparison, k_greater_equal);
    const bool below = is_function(*comparison, k_less) || is_function(*comparison, k_less_equal);
    if (i == 0 ? above : below) return Match{k_leaky_relu, *slope, x};
  }
  return std::nullopt;
}

std::optional<Match> match_pair(const Graph& graph, double factor, Value* x, Value* gate) {
  if (Value* u = one_plus(gate, k_erf)) {
    const auto scale = monomial(graph, u, x, 1);
    if (near(factor, 0.5) && scale.has_value() && near(*scale, 0.70710678))
      return Match{k_gelu_erf, 0, x};
  }
  if (Value* u = one_plus(gate, k_tanh))
    if (near(factor, 0.5) && is_gelu_cubic(graph, u, x)) return Match{k_gelu_tanh, 0, x};
  if (factor != 1) return std::nullopt;
  if (const Node* sigmoid = pointwise_producer(gate, k_sigmoid)) {
    const auto scale = monomial(graph, sigmoid->input(0), x, 1);
    if (scale.has_value()) return Match{k_swish, *scale, x};
  }
  if (const auto sum = logistic(graph, gate->producer()); sum.has_value() && sum->argument == x)
    return Match{k_swish, -sum->factor, x};
  if (const Node* hard = pointwise_producer(gate, k_hard_sigmoid);
      hard != nullptr && hard->input(0) == x) {
    const auto* function = hard->as<Pointwise>();
    if (near(function->alpha, 1.0 / 6) && near(function->beta, 0.5))
      return Match{k_hard_swish, 0, x};
  }
  if (const Node* tanh = pointwise_producer(gate, k_tanh)) {
    const Node* softplus = pointwise_producer(tanh->input(0), k_softplus);
    if ((softplus != nullptr && softplus->input(0) == x) ||
        logarithm_of_exponential(graph, tanh->input(0)->producer()) == x)
      return Match{k_mish, 0, x};
  }
  return std::nullopt;
}

/// x * clip(x + 3, 0, 6) / 6.
std::optional<Match> match_clipped(double factor, Value* x, const Value* gate) {
  const Node* clip = pointwise_producer(gate, k_clip);
  if (clip == nullptr || !near(factor, 1.0 / 6)) return std::nullopt;
  const auto* bounds = clip->as<Pointwise>();
  const Node* sum = pointwise_producer(clip->input(0), k_add);
  if (bounds->alpha != 0 || bounds->beta != 6 || sum == nullptr) return std::nullopt;
  for (int i = 0; i < 2; ++i)
    if (sum->input(i) == x && is_scalar(sum->input(1 - i), 3)) return Match{k_hard_swish, 0, x};
  return std::nullopt;
}

std::optional<Match> match(const Graph& graph, Node& root) {
  if (auto found = match_quotient(graph, root)) return found;
  if (Value* x = logarithm_of_exponential(graph, &root)) return Match{k_softplus, 0, x};
  if (auto found = match_leaky(graph, root)) return found;
  if (!is_function(root, k_mul) && !is_function(root, k_div)) return std::nullopt;
  const Product product = product_of(graph, root.output());
  if (product.values.size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    Value *x = product.values[i], *gate = product.values[1 - i];
    if (auto found = match_pair(graph, product.factor, x, gate)) return found;
    if (auto found = match_clipped(product.factor, x, gate)) return found;
  }
  return std::nullopt;
}

}  // namespace

bool recognize_activations(Graph& graph, PassContext& context) {
  // From the back, so that the outermost product is met first.
  return for_each_from_back(nodes_of(graph), [&](Node& root) {
    if (!root.is<Pointwise>()) return false;
    if (root.output()->uses().empty() && !graph.is_output(root.output())) return false;
    if (!is_real(root.output()->type.type) || !context.allows_fusion(root)) return false;
    const auto found = match(graph, root);
    if (!found || found->argument->type.shape != root.output()->type.shape) return false;
    Value* result = add_pointwise(graph, found->function, {found->argument}, root, found->alpha);
    stand_in(graph, root, result);
    return context.applied(
        fmt::format("{} is {}", root.name, pointwise_info(found->function).name));
  });
}

}  // namespace tenon
