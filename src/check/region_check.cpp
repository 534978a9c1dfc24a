#include "check/region_check.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "check/compare.h"
#include "check/compile_checked.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"

namespace tenon {
namespace {

/// Bytes are rounded sums: those of another order of summation are neighbours now and then.
constexpr double kByteLimit = 2e-2;

/// The bytes of an image in the other order: axis 1 last, or back.
Tensor reordered(const Tensor& tensor, bool channels_last) {
  const Extents& extents = tensor.extents();
  const int64_t channels = extents[1];
  const int64_t places = tensor.count() / std::max<int64_t>(1, extents[0] * channels);
  const auto size = static_cast<int64_t>(byte_size(tensor.type()));
  Tensor result(tensor.type(), extents);
  for (int64_t n = 0; n < extents[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < places; ++p) {
        const int64_t rows = (n * channels + c) * places + p;
        const int64_t last = (n * places + p) * channels + c;
        std::memcpy(result.mutable_bytes() + (channels_last ? last : rows) * size,
                    tensor.bytes() + (channels_last ? rows : last) * size, size);
      }
  return result;
}

/// A region cut out of its plan: an engine of one node.
struct Cut {
  Plan plan;
  std::vector<Tensor> inputs;  ///< In the layouts that the node reads.
};

using Contents = std::unordered_map<const Value*, Tensor>;

Cut cut_out(const Plan& plan, const Node& node, const Contents& contents) {
  Cut cut;
  cut.plan.device = plan.device;
  cut.plan.device_name = plan.device_name;
  cut.plan.architecture = plan.architecture;
  cut.plan.settings = plan.settings;
  cut.plan.graph = std::make_unique<Graph>();
  Graph& graph = *cut.plan.graph;
  std::unordered_map<const Value*, Value*> twins;
  std::vector<Value*> operands;
  for (const Value* input : node.inputs()) {
    if (input != nullptr && !twins.contains(input)) {
      const Tensor& tensor = contents.at(input);
      const bool fixed = input->constant() != nullptr || input->elements.has_value();
      const TensorType type = {tensor.type(), to_shape(tensor.extents()), input->type.layout};
      const bool last = !fixed && type.layout == Layout::kChannelsLast;
      twins[input] = fixed ? graph.add_constant(tensor)
                           : graph.add_input(fmt::format("in{}", cut.inputs.size()), type);
      twins[input]->type = type;
      if (!fixed) cut.inputs.push_back(last ? reordered(tensor, true) : tensor);
    }
    operands.push_back(input == nullptr ? nullptr : twins.at(input));
  }
  Node* twin = graph.add_node(node.op->clone(), std::move(operands),
                              static_cast<int>(node.outputs().size()), node.name);
  twin->tactic = node.tactic;
  twin->packed = node.packed;
  for (const auto& body : node.bodies) twin->bodies.push_back(body->clone());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.outputs()[i];
    Value* result = twin->outputs()[i];
    result->name = fmt::format("out{}", i);
    result->type = output->type;
    result->type.shape = to_shape(contents.at(output).extents());
    graph.add_output(result);
  }
  return cut;
}

bool is_bytes(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8;
}

double limit_of(const Node& node, bool in_tf32) {
  double limit = 0;
  const auto add = [&](const Value* value) {
    if (value == nullptr) return;
    const DataType type = value->type.type;
    limit = std::max(limit, is_real(type)    ? distance_limit(type, in_tf32)
                            : is_bytes(type) ? kByteLimit
                                             : 0);
  };
  for (const Value* input : node.inputs()) add(input);
  for (const Value* output : node.outputs()) add(output);
  for (const auto& body : node.bodies)
    for (const auto& inner : body->nodes())
      for (const Value* output : inner->outputs()) add(output);
  // Places of nearly equal values may change.
  return is_real(node.output()->type.type) ? limit : std::max(limit, kByteLimit);
}

/// Bytes as numbers, so that one step between two counts for what it is.
Tensor as_numbers(const Tensor& tensor) {
  if (!is_bytes(tensor.type())) return tensor;
  Tensor numbers(DataType::kFloat32, tensor.extents());
  for (int64_t i = 0; i < tensor.count(); ++i) numbers.set_from_double(i, tensor.as_double(i));
  return numbers;
}

bool is_random(const Node& node) {
  return node.is<Random>() || node.is<Bernoulli>() || node.is<Multinomial>();
}

bool is_checkable(const Node& node) {
  return !node.tactic.empty() && node.tactic != kViewTactic && !node.outputs().empty() &&
         !node.is<Constant>() && !is_random(node) && !node.is<Plugin>();
}

/// The largest distance of the region's results, or why it cannot be run alone.
Result<double> distance_of(const Plan& plan, const Node& node, const Contents& contents,
                           const Backend& backend, int threads) {
  const Cut cut = cut_out(plan, node, contents);
  TENON_ASSIGN(const std::vector<Tensor> results, run_plan(cut.plan, backend, threads, cut.inputs));
  double worst = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Value* output = node.outputs()[i];
    const bool last = output->type.layout == Layout::kChannelsLast;
    const Tensor actual = last ? reordered(results[i], false) : results[i];
    worst = std::max(worst, distance(as_numbers(actual), as_numbers(contents.at(output))));
  }
  return worst;
}

}  // namespace

Result<std::map<std::string, Tensor>> named_values(const Graph& network,
                                                   const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> values;
  const ValueObserver keep = [&](const Value& value, const Tensor& tensor) {
    if (!value.name.empty() && value.producer() != nullptr && value.constant() == nullptr)
      values[value.name] = tensor;
  };
  TENON_TRY(evaluate_graph(network, inputs, keep));
  return values;
}

Result<RegionReport> check_regions(const Plan& plan, const Backend& backend, int threads,
                                   const std::vector<Tensor>& inputs) {
  Contents contents;
  const ValueObserver keep = [&](const Value& value, const Tensor& tensor) {
    contents[&value] = tensor;
  };
  TENON_TRY(evaluate_graph(*plan.graph, inputs, keep));
  RegionReport report;
  for (const auto& node : plan.graph->nodes()) {
    if (!is_checkable(*node)) continue;
    ++report.regions;
    const auto distance = distance_of(plan, *node, contents, backend, threads);
    if (!distance.ok()) continue;
    ++report.checked;
    const double limit =
        limit_of(*node, multiplies_in_tf32(backend.device.get(), backend.allow_tf32));
    if (*distance <= limit) continue;
    const std::string tactic = node->tactic.substr(0, node->tactic.find('{'));
    report.wrong.push_back({node->name, tactic,
                            fmt::format("region '{}', kernel {}: distance {:.3g}, limit {:.3g}",
                                        node->name, tactic, *distance, limit)});
  }
  return report;
}

}  // namespace tenon
