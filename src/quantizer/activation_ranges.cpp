#include "quantizer/activation_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/strides.h"
#include "ops/ops.h"
#include "ops/strided.h"
#include "plan/graph_parts.h"
#include "select/agreement.h"
#include "select/compile.h"

namespace tenon {
namespace {

bool is_looked_at(const Value& value) {
  const DataType type = value.type.type;
  const bool is_counted = type == DataType::kFloat32 || is_half(type);
  return is_counted && value.constant() == nullptr;
}

void add_to(Histogram& histogram, const Tensor& tensor) {
  if (tensor.type() == DataType::kFloat32) return histogram.add(tensor.values<float>());
  std::vector<float> numbers(static_cast<size_t>(tensor.count()));
  for (int64_t i = 0; i < tensor.count(); ++i)
    numbers[static_cast<size_t>(i)] = static_cast<float>(tensor.as_double(i));
  histogram.add(numbers);
}

/// Every operator as it is: nodes that passes join have no tensor between.
CompileRequest request_for(const Graph& network, std::vector<Profile> profiles,
                           const Backend& backend, int threads) {
  CompileRequest request;
  request.graph = network.clone();
  request.profiles = std::move(profiles);
  request.backend = backend;
  request.passes = pass_options_for(*backend.device);
  request.passes.level = 0;
  request.select.level = 0;
  request.select.threads = threads;
  return request;
}

/// Leaves the part in front of extents that data decide; false where there is none.
bool cut_at_open_extents(Graph& graph) {
  const std::set<std::string> known = input_symbols(graph);
  if (!has_open_extents(graph, known)) return true;
  std::set<const Value*> behind;
  std::vector<Value*> ends;
  const auto end_at = [&](Value* value) {
    const bool is_made = value != nullptr && value->producer() != nullptr &&
                         value->constant() == nullptr && !behind.contains(value);
    if (!is_made || std::ranges::find(ends, value) != ends.end()) return;
    if (value->name.empty()) value->name = fmt::format("end {}", ends.size());
    ends.push_back(value);
  };
  for (const auto& node : graph.nodes()) {
    if (!is_open(*node, known) && std::ranges::none_of(node->inputs(), [&](const Value* input) {
          return behind.contains(input);
        }))
      continue;
    behind.insert(node->outputs().begin(), node->outputs().end());
    for (Value* input : node->inputs()) end_at(input);
  }
  for (Value* output : graph.outputs()) end_at(output);
  graph.clear_outputs();
  for (Value* end : ends) graph.add_output(end);
  graph.remove_dead();
  return !ends.empty() && !has_open_extents(graph, known);
}

}  // namespace

Result<ActivationRanges> ActivationRanges::create(const Graph& network,
                                                  std::vector<Profile> profiles,
                                                  const Backend& backend, int threads) {
  TimingCache nothing;
  NullLogger quiet;
  CompileRequest request = request_for(network, std::move(profiles), backend, threads);
  if (!cut_at_open_extents(*request.graph))
    return unsupported("the network has data-dependent shapes from its first layers on");
  TENON_ASSIGN(Plan plan, compile(std::move(request), nothing, quiet));
  TENON_ASSIGN(ObservedRun run, ObservedRun::create(plan, backend, threads));
  return ActivationRanges(std::move(run), backend);
}

/// The elements alone count, not their order; but the skipped ones do not.
Status ActivationRanges::look_at(const StepResult& result) {
  const Value* value = result.node.outputs()[result.output];
  if (!is_looked_at(*value)) return {};
  Operand operand = run_.concrete().operand(value);
  if (operand.dense()) operand.strides = dense_strides(operand.extents, operand.layout);
  if (result.samples > 1) operand.extents[0] /= result.samples;
  if (operand.count() == 0) return {};
  const DataType type = value->type.type;
  Tensor held(type, {extent_in_memory(operand)});
  TENON_TRY(backend_.device->download(held.mutable_bytes(), result.address,
                                      static_cast<size_t>(held.byte_count()), {}));
  TENON_TRY(backend_.device->synchronize({}));
  if (held.count() != operand.count()) {
    Tensor rows(type, operand.extents);
    strided_copy(rows.mutable_bytes(), row_major_strides(operand.extents), held.bytes(),
                 operand.strides, operand.extents, byte_size(type));
    held = std::move(rows);
  }
  add_to(by_value_[value], held);
  return {};
}

Status ActivationRanges::add(std::span<const Tensor> inputs) {
  TENON_TRY(run_.prepare(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* input = run_.graph().inputs()[i];
    if (is_looked_at(*input)) add_to(by_value_[input], inputs[i]);
  }
  TENON_TRY(run_.observe([this](const StepResult& result) { return look_at(result); }));
  ++batches_;
  return {};
}

/// Views have no step: their numbers are their source's.
std::map<std::string, Histogram> ActivationRanges::histograms() const {
  std::map<const Value*, Histogram> all = by_value_;
  for (const auto& node : run_.graph().nodes())
    for (const Value* output : node->outputs()) {
      if (!is_looked_at(*output) || all.contains(output)) continue;
      Histogram numbers;
      for (const Value* input : node->inputs())
        if (const auto found = input == nullptr ? all.end() : all.find(input); found != all.end())
          numbers.add(found->second);
      if (!numbers.empty()) all.emplace(output, std::move(numbers));
    }
  std::map<std::string, Histogram> named;
  for (auto& [value, numbers] : all)
    if (!value->name.empty() && !numbers.empty()) named[value->name] = std::move(numbers);
  return named;
}

}  // namespace tenon
