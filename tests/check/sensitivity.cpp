#include "check/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "check/wide.h"
#include "ops/dims.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Results of eight random errors are within this factor of the largest that such errors cause.
constexpr int kTrials = 8;
constexpr double kMargin = 4;

using Numbers = std::mt19937_64;

/// A value's users read it with errors.
void disturb(Graph& graph, Value* value, double share, Numbers& random) {
  if (value->type.type != DataType::kFloat64 || !is_constant(value->type.shape)) return;
  Tensor errors(DataType::kFloat64, constants(value->type.shape));
  std::uniform_real_distribution<double> error(-share, share);
  for (int64_t i = 0; i < errors.count(); ++i) errors.set_from_double(i, 1 + error(random));
  Value* factors = graph.add_constant(std::move(errors));
  factors->type = value->type;
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  Node* node = graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_mul),
                              {value, factors}, 1, "");
  node->output()->type = value->type;
  for (const Use& use : uses) use.node->set_input(use.index, node->output());
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == value) graph.set_output(static_cast<int>(i), node->output());
}

/// Layer normalization in steps, so that its mean has an error of its own: relative to the row,
/// which may be far above the deviations.
Status write_out(Graph& graph, Node& node) {
  const auto* op = node.as<Normalization>();
  if (op == nullptr || op->norm != NormKind::kLayer || op->axis != -1) return {};
  const auto add = [&graph](std::unique_ptr<Op> step, std::vector<Value*> inputs) {
    return graph.add_node(std::move(step), std::move(inputs), 1)->output();
  };
  const auto apply = [&](PointwiseFunction function, std::vector<Value*> inputs) {
    return add(std::make_unique<Pointwise>(function), std::move(inputs));
  };
  const auto mean_of = [&](Value* x) {
    auto mean = std::make_unique<Reduce>();
    mean->function = ReduceFunction::kMean;
    mean->axes = {-1};
    return add(std::move(mean), {x});
  };
  Tensor epsilon(DataType::kFloat64, {});
  epsilon.set_from_double(0, op->epsilon);
  using enum PointwiseFunction;
  Value* deviations = apply(k_sub, {node.input(0), mean_of(node.input(0))});
  Value* variance = mean_of(apply(k_mul, {deviations, deviations}));
  Value* root = apply(k_rsqrt, {apply(k_add, {variance, graph.add_constant(std::move(epsilon))})});
  Value* result = apply(k_mul, {deviations, root});
  for (size_t i = 1; i < node.inputs().size(); ++i)
    if (node.input(static_cast<int>(i)) != nullptr)
      result = apply(i == 1 ? k_mul : k_add, {result, node.input(static_cast<int>(i))});
  result->name = std::exchange(node.output()->name, {});
  graph.replace_uses(node.output(), result);
  return {};
}

Status write_out(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    for (const auto& body : node->bodies) TENON_TRY(write_out(*body));
    TENON_TRY(write_out(graph, *node));
  }
  return graph.sort();
}

Status disturb_all(Graph& graph, double share, Numbers& random) {
  std::vector<Value*> values(graph.inputs().begin(), graph.inputs().end());
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->bodies) TENON_TRY(disturb_all(*body, share, random));
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
  }
  for (Value* value : values) disturb(graph, value, share, random);
  return graph.sort();
}

std::vector<Tensor> widened_all(std::span<const Tensor> inputs) {
  std::vector<Tensor> wide;
  for (const Tensor& input : inputs) wide.push_back(widened(input, DataType::kFloat64));
  return wide;
}

bool is_finite(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(tensor.as_double(i))) return false;
  return true;
}

/// Length of the difference; of integers how many differ. Infinite for other extents.
double difference(const Tensor& actual, const Tensor& exact) {
  if (actual.extents() != exact.extents() || is_finite(actual) != is_finite(exact)) return INFINITY;
  double sum = 0;
  for (int64_t i = 0; i < exact.count(); ++i) {
    const double a = actual.as_double(i), e = exact.as_double(i);
    if (!std::isfinite(a) || !std::isfinite(e)) continue;
    sum += is_real(exact.type()) ? (a - e) * (a - e) : static_cast<double>(a != e);
  }
  return is_real(exact.type()) ? std::sqrt(sum) : sum;
}

}  // namespace

Result<std::vector<Tensor>> exact_results(const Graph& network, std::span<const Tensor> inputs) {
  TENON_ASSIGN(const auto wide, widened(network, DataType::kFloat64));
  return evaluate_graph(*wide, widened_all(inputs));
}

Result<Sensitivity> Sensitivity::of(const Graph& network, std::span<const Tensor> inputs,
                                    double share) {
  Sensitivity made;
  TENON_ASSIGN(const auto wide, widened(network, DataType::kFloat64));
  const std::vector<Tensor> wide_inputs = widened_all(inputs);
  TENON_ASSIGN(made.exact_, evaluate_graph(*wide, wide_inputs));
  made.spreads_.resize(made.exact_.size());
  const auto steps = wide->clone();
  TENON_TRY(write_out(*steps));
  TENON_TRY(infer_graph(*steps));
  for (int trial = 0; trial < kTrials; ++trial) {
    Numbers random(static_cast<uint64_t>(trial));
    const auto copy = steps->clone();
    TENON_TRY(disturb_all(*copy, share, random));
    TENON_ASSIGN(const std::vector<Tensor> results, evaluate_graph(*copy, wide_inputs));
    for (size_t i = 0; i < results.size(); ++i)
      made.spreads_[i] = std::max(made.spreads_[i], difference(results[i], made.exact_[i]));
  }
  return made;
}

bool Sensitivity::explains(const Tensor& actual, size_t output) const {
  return difference(actual, exact_[output]) <= kMargin * spreads_[output];
}

}  // namespace tenon
