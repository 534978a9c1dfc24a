#include "check/network_reference.h"

#include <map>

#include "check/processor_reference.h"
#include "check/rounding.h"
#include "check/sample.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

bool is_narrow(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16;
}

/// Whether a region ends with the cast of a 16-bit value of its inside: its kernel may round that
/// value or not.
bool casts_narrow(const Node& region, const Value& output) {
  const Node* last = region.bodies[0]->outputs()[output.index()]->producer();
  return last != nullptr && last->is<Cast>() && is_narrow(last->input(0)->type.type);
}

void note_types(const Graph& graph, std::map<std::string, DataType>& types) {
  for (const auto& node : graph.nodes()) {
    const bool is_region = node->is<Fused>();
    for (const Value* output : node->outputs())
      if (!output->name.empty() && !(is_region && casts_narrow(*node, *output)))
        types[output->name] = output->type.type;
    if (is_region) continue;
    for (const auto& body : node->bodies) note_types(*body, types);
  }
}

/// The types of the values that a plan keeps in memory, by name.
std::map<std::string, DataType> stored_types(const Graph& plan) {
  std::map<std::string, DataType> types;
  note_types(plan, types);
  return types;
}

bool takes_weights(const Node& node) {
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Einsum>() ||
         node.is<Gather>() || node.is<Rnn>() || node.is<Attention>();
}

/// Constants and inputs that products read are rounded with their results.
bool feeds_products(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) { return takes_weights(*use.node); });
}

/// Kernels for a network have to be chosen, made, and given their weights first: each, and each
/// byte of weights, takes as long as so many multiplications by plain loops. So does each element
/// that an operator of the loops makes.
constexpr double kKernelWork = 2e6, kByteWork = 10, kElementWork = 25;

/// Whether plain loops evaluate a graph about as fast as kernels or faster. By its work alone: the
/// same build gives the same numbers.
bool suits_loops(const Graph& graph, const Profile& profile) {
  const auto multiplications = static_cast<double>(reference_cost(graph, profile));
  const ReferenceWork work = reference_work(graph, profile);
  return multiplications + kElementWork * work.elements <=
         kKernelWork * work.kernels + kByteWork * work.weights;
}

/// A graph in its own precision as the passes leave it.
Result<std::unique_ptr<Graph>> without_precision(PassOptions options, const Graph& graph) {
  options.precision.reset();
  auto changed = graph.clone();
  NullLogger quiet;
  TENON_TRY(run_passes(*changed, options, quiet));
  return changed;
}

/// By the plain loops.
Result<std::vector<Tensor>> evaluate_and_tell(const Graph& graph, const Profile& profile,
                                              std::span<const Tensor> inputs,
                                              const ReferenceObserver& told) {
  ReferencePace pace(told.left);
  const std::vector<NodeCost> costs = reference_costs(graph, profile);
  for (size_t i = 0; i < costs.size(); ++i)
    pace.expect(*graph.nodes()[i], {.operations = costs[i].multiplications});
  pace.begin();
  return evaluate_graph(graph, inputs, [&](const Value& value, const Tensor&) {
    if (value.producer() != nullptr) pace.did(*value.producer());
  });
}

}  // namespace

bool NetworkReference::takes_kernels(const Graph& graph) const {
  return on_processor_ && !suits_loops(graph, profiles_[0]);
}

Result<std::vector<Tensor>> NetworkReference::run(const Graph& graph,
                                                  const ReferenceObserver& told) const {
  if (takes_kernels(graph)) {
    auto outputs = evaluate_on_processor(graph, profiles_, inputs_, told);
    if (outputs.ok()) return outputs;
  }
  if (told.left) return evaluate_and_tell(graph, profiles_[0], inputs_, told);
  return evaluate_graph(graph, inputs_);
}

void NetworkReference::take_inputs(std::span<const Tensor> inputs) {
  inputs_.clear();
  for (const Tensor& input : inputs) inputs_.push_back(widened(input));
}

Status NetworkReference::evaluate(const ReferenceObserver& told) {
  TENON_ASSIGN(const auto wide, widened(network_));
  TENON_ASSIGN(outputs_, run(*wide, told));
  return {};
}

Result<std::vector<Tensor>> NetworkReference::rounded(const Graph& plan,
                                                      std::optional<DataType> precision,
                                                      bool in_tf32, int draw) const {
  TENON_ASSIGN(const auto wide, widened(network_));
  const auto types = stored_types(plan);
  std::map<std::string, DataType> own = stored_types(network_);
  // A value that the plan does not have by its name may have become part of a region, or one with
  // another, which is stored.
  const bool rounds_lost = draw % 2 == 1;
  const auto stored = [&](const Value& value) -> std::optional<DataType> {
    const bool given = value.producer() == nullptr || value.constant() != nullptr;
    if (const auto found = own.find(value.name); found != own.end() && is_narrow(found->second))
      return given ? std::nullopt : std::optional(found->second);
    if (!precision.has_value()) return std::nullopt;
    if (given) return feeds_products(value) ? precision : std::nullopt;
    if (value.name.empty()) return precision;
    const auto found = types.find(value.name);
    if (found == types.end() && rounds_lost) return precision;
    if (found == types.end() || !is_narrow(found->second)) return std::nullopt;
    return found->second;
  };
  TENON_ASSIGN(const auto graph,
               with_rounding(*wide, {.stored = stored, .products_in_tf32 = in_tf32, .draw = draw}));
  return run(*graph);
}

Result<std::vector<Tensor>> NetworkReference::after_passes(const PassOptions& options) const {
  TENON_ASSIGN(const auto graph, without_precision(options, network_));
  return outputs_of(*graph);
}

Result<std::unique_ptr<Graph>> NetworkReference::passed(PassOptions options, const Graph& begun) {
  options.steps_before = steps_before_precision();
  return without_precision(std::move(options), begun);
}

Result<std::vector<Tensor>> NetworkReference::outputs_of(const Graph& graph) const {
  TENON_ASSIGN(const auto wide, widened(graph));
  return run(*wide);
}

Result<std::vector<Tensor>> NetworkReference::outputs_as_typed(
    const Graph& graph, std::span<const Tensor> inputs) const {
  if (on_processor_) {
    auto outputs = evaluate_on_processor(graph, profiles_, inputs);
    if (outputs.ok()) return outputs;
  }
  return evaluate_graph(graph, inputs);
}

}  // namespace tenon
