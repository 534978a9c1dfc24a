#include "check/sample.h"

#include <algorithm>
#include <map>
#include <random>
#include <unordered_set>

#include "ir/element.h"
#include "ops/control_flow.h"
#include "ops/einsum.h"
#include "ops/ops.h"
#include "plan/concrete_graph.h"
#include "plan/shape_values.h"

namespace tenon {
namespace {

int64_t saturating_product(int64_t a, int64_t b) {
  return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

/// Elements of a value; INT64_MAX where they are not known.
int64_t count_of(const Value* value, const SymbolValues& symbols) {
  int64_t count = 1;
  for (const Dim& dim : value->type.shape) {
    const auto extent = dim.evaluate(symbols);
    if (!extent.has_value()) return INT64_MAX;
    count = saturating_product(count, *extent);
  }
  return count;
}

/// Combinations of the labels that are summed over, times the factors.
int64_t einsum_depth(const Node& node, const SymbolValues& symbols) {
  std::vector<Shape> shapes;
  for (const Value* input : node.inputs()) shapes.push_back(input->type.shape);
  const auto equation = einsum::read_equation(node.as<Einsum>()->equation, shapes);
  if (!equation.ok()) return INT64_MAX;
  std::map<int, int64_t> summed;
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const int label = equation->operands[i][axis];
      if (std::ranges::count(equation->result, label) > 0) continue;
      const int64_t extent = shapes[i][axis].evaluate(symbols).value_or(1 << 20);
      summed[label] = std::max(summed[label], extent);
    }
  int64_t depth = 2 * static_cast<int64_t>(shapes.size());
  for (const auto& [label, extent] : summed) depth = saturating_product(depth, extent);
  return depth;
}

/// Multiplications for one element of the result.
int64_t depth_of(const Node& node, const SymbolValues& symbols) {
  const auto last = [&](const Value* value) {
    return value->type.shape.empty() ? 1
                                     : value->type.shape.back().evaluate(symbols).value_or(1 << 20);
  };
  if (node.is<Conv>() || node.is<Deconv>() || node.is<DeformConv>()) {
    const int64_t weights = count_of(node.input(1), symbols);
    const auto channels = node.output()->type.shape[1].evaluate(symbols);
    return weights == INT64_MAX ? weights : weights / std::max<int64_t>(1, channels.value_or(1));
  }
  if (const auto* matmul = node.as<MatMul>())
    return matmul->transpose_a ? count_of(node.input(0), symbols) : last(node.input(0));
  if (node.is<Attention>()) {
    const Shape& k = node.input(1)->type.shape;
    return 2 * k[k.size() - 2].evaluate(symbols).value_or(1 << 20);
  }
  if (node.is<Rnn>()) return 8 * last(node.input(0)) + 8 * node.as<Rnn>()->hidden;
  if (node.is<Einsum>()) return einsum_depth(node, symbols);
  return 4;
}

/// The type is looked at once: inputs may have hundreds of millions of elements.
void fill(Tensor& tensor, std::mt19937_64& random) {
  with_element(tensor.type(), [&](auto element) {
    using E = decltype(element);
    using Compute = typename E::Compute;
    for (auto& stored : tensor.mutable_values<typename E::Storage>()) {
      const double number = static_cast<double>(random() >> 11) * 0x1p-53;
      if constexpr (std::is_floating_point_v<Compute>)
        stored = E::store(static_cast<Compute>(2 * number - 1));
      else
        stored = E::store(static_cast<Compute>(number >= 0.5));
    }
  });
}

}  // namespace

Result<std::vector<Tensor>> sample_inputs(const Graph& graph, const Profile& profile,
                                          uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) {
    const auto found = profile.find(input->name);
    if (found == profile.end()) return user_error("no shape for input '{}'", input->name);
    TENON_ASSIGN(Tensor tensor, Tensor::create(input->type.type, found->second.opt));
    if (is_shape_input(*input)) {
      inputs.push_back(usual_contents(*input, found->second));
      continue;
    }
    fill(tensor, random);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

namespace {

std::optional<SymbolValues> usual_symbols_of(const Graph& graph, const Profile& profile) {
  std::map<std::string, Extents> shapes;
  for (const Value* input : graph.inputs()) {
    const auto found = profile.find(input->name);
    if (found == profile.end()) return std::nullopt;
    shapes[input->name] = found->second.opt;
  }
  auto symbols = bind_inputs(graph, shapes, usual_values(graph, profile));
  return symbols.ok() ? std::optional(std::move(symbols).value()) : std::nullopt;
}

}  // namespace

int64_t reference_cost(const Graph& graph, const Profile& profile) {
  const auto symbols = usual_symbols_of(graph, profile);
  return symbols ? reference_cost(graph, *symbols) : INT64_MAX;
}

namespace {

/// Whose results are views of their operands, mostly.
bool is_mostly_view(const Node& node) {
  return node.is<Identity>() || node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() ||
         node.is<Unsqueeze>() || node.is<Transpose>() || node.is<Slice>() || node.is<Split>() ||
         node.is<Expand>();
}

/// Constants, and what shapes and constants alone decide.
bool is_folded(const Node& node, const std::unordered_set<const Node*>& folded) {
  if (node.is<Constant>() || node.is<Dims>()) return true;
  if (node.outputs().empty() || is_control_flow(node)) return false;
  if (std::ranges::all_of(node.outputs(),
                          [](const Value* value) { return value->elements.has_value(); }))
    return true;
  return !node.inputs().empty() && std::ranges::all_of(node.inputs(), [&](const Value* value) {
    return value == nullptr || (value->producer() != nullptr && folded.contains(value->producer()));
  });
}

}  // namespace

ReferenceWork reference_work(const Graph& graph, const Profile& profile) {
  ReferenceWork work;
  const auto symbols = usual_symbols_of(graph, profile);
  if (!symbols) return work;
  std::unordered_set<const Node*> folded;
  for (const auto& node : graph.nodes()) {
    if (const Tensor* constant = node->op->constant_value())
      work.weights += static_cast<double>(constant->byte_count());
    if (is_folded(*node, folded)) {
      folded.insert(node.get());
      continue;
    }
    if (is_mostly_view(*node)) continue;
    ++work.kernels;
    for (const Value* output : node->outputs())
      work.elements += static_cast<double>(count_of(output, *symbols));
  }
  return work;
}

namespace {

/// How often the bodies of a node run; INT64_MAX where data decide.
int64_t rounds_of(const Node& node, const SymbolValues& symbols) {
  if (node.is<If>()) return 1;
  if (node.is<Scan>()) {
    const Recurrence recurrence(node);
    if (recurrence.scanned == 0) return INT64_MAX;
    const Shape& shape = node.input(recurrence.first + recurrence.states)->type.shape;
    const auto axis = static_cast<size_t>(recurrence.input_axis(node, 0));
    return axis < shape.size() ? shape[axis].evaluate(symbols).value_or(INT64_MAX) : INT64_MAX;
  }
  const auto& trips = node.has_input(0) ? node.input(0)->elements : std::nullopt;
  const auto count = trips && trips->size() == 1 ? trips->front().evaluate(symbols) : std::nullopt;
  return count ? std::max<int64_t>(0, *count) : INT64_MAX;
}

int64_t cost_of_bodies(const Node& node, const SymbolValues& symbols) {
  int64_t round = 0;
  for (const auto& body : node.bodies) {
    const int64_t cost = reference_cost(*body, symbols);
    if (cost > INT64_MAX - round) return INT64_MAX;
    round += cost;
  }
  return saturating_product(round, rounds_of(node, symbols));
}

int64_t cost_of(const Node& node, const SymbolValues& symbols) {
  if (node.is<Plugin>()) return INT64_MAX;
  if (node.outputs().empty() || node.is<Constant>()) return 0;
  if (is_control_flow(node)) return cost_of_bodies(node, symbols);
  return saturating_product(count_of(node.output(), symbols), depth_of(node, symbols));
}

}  // namespace

int64_t reference_cost(const Graph& graph, const SymbolValues& symbols) {
  int64_t total = 0;
  for (const auto& node : graph.nodes()) {
    const int64_t cost = cost_of(*node, symbols);
    if (cost > INT64_MAX - total) return INT64_MAX;
    total += cost;
  }
  return total;
}

std::vector<NodeCost> reference_costs(const Graph& graph, const Profile& profile) {
  std::vector<NodeCost> costs;
  const auto symbols = usual_symbols_of(graph, profile);
  if (!symbols) return costs;
  for (const auto& node : graph.nodes()) {
    NodeCost& cost = costs.emplace_back();
    cost.multiplications = static_cast<double>(cost_of(*node, *symbols));
    if (cost.multiplications > 0)
      for (const Value* output : node->outputs())
        cost.elements += static_cast<double>(count_of(output, *symbols));
  }
  return costs;
}

}  // namespace tenon
