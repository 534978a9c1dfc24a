#include "check/network_reference.h"

#include "check/compare.h"
#include "check/network_facts.h"
#include "check/processor_reference.h"
#include "check/region_check.h"
#include "check/rounding.h"
#include "check/sample.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/casts.h"

namespace tenon {
namespace {

/// Whether a region ends with the cast of a 16-bit value of its inside: its kernel may round that
/// value or not.
bool casts_narrow(const Node& region, const Value& output) {
  const Node* last = region.bodies[0]->outputs()[output.index()]->producer();
  return last != nullptr && last->is<Cast>() && is_half(last->input(0)->type.type);
}

void note_types(const Graph& graph, StoredTypes& types) {
  for (const auto& node : graph.nodes()) {
    const bool is_region = node->is<Fused>();
    for (const Value* output : node->outputs())
      if (!output->name.empty() && !(is_region && casts_narrow(*node, *output)))
        types[output->name] = output->type.type;
    if (is_region) continue;
    for (const auto& body : node->bodies) note_types(*body, types);
  }
}

/// Values of 16 bits get names where they have none: those of operators that were imported in
/// steps.
void name_narrow_values(Graph& graph, int& named) {
  for (const auto& node : graph.nodes()) {
    for (Value* output : node->outputs())
      if (output->name.empty() && is_half(output->type.type))
        output->name = fmt::format("16 bits {}", named++);
    for (const auto& body : node->bodies) name_narrow_values(*body, named);
  }
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

/// In f32 with these extents, so that single elements can have errors, and kernels know all of them
/// behind passes; with open ones where a branch that is not taken does not allow them.
Result<std::unique_ptr<Graph>> wide_with_extents(const Graph& graph, std::vector<Profile> extents) {
  TENON_ASSIGN(auto wide, widened(graph));
  auto fixed = wide->clone();
  const bool is_fixed = apply_profiles(*fixed, extents).ok() && infer_graph(*fixed).ok();
  return is_fixed ? std::move(fixed) : std::move(wide);
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

StoredTypes stored_types(const Graph& plan) {
  StoredTypes types;
  note_types(plan, types);
  return types;
}

bool NetworkReference::takes_kernels(const Graph& graph) const {
  return on_processor_ && !suits_loops(graph, profiles_[0]);
}

Result<std::vector<Tensor>> NetworkReference::run(const Graph& graph,
                                                  const ReferenceObserver& told) const {
  if (takes_kernels(graph)) {
    auto outputs = evaluate_on_processor(graph, extents_, inputs_, told);
    if (outputs.ok()) return outputs;
  }
  if (told.left) return evaluate_and_tell(graph, profiles_[0], inputs_, told);
  return evaluate_graph(graph, inputs_);
}

void NetworkReference::take_inputs(std::span<const Tensor> inputs) {
  inputs_.clear();
  extents_.assign(1, profiles_[0]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.push_back(widened(inputs[i]));
    ShapeRange& range = extents_[0][network_.inputs()[i]->name];
    range.min = range.opt = range.max = inputs[i].extents();
  }
}

Status NetworkReference::evaluate(const ReferenceObserver& told) {
  TENON_ASSIGN(const auto wide, widened(network_));
  TENON_ASSIGN(outputs_, run(*wide, told));
  return {};
}

Result<std::vector<Tensor>> NetworkReference::rounded(const StoredTypes& types,
                                                      std::optional<DataType> precision,
                                                      bool in_tf32, int draw) const {
  const auto network = network_.clone();
  int named = 0;
  name_narrow_values(*network, named);
  TENON_ASSIGN(const auto wide, wide_with_extents(*network, extents_));
  const auto own = stored_types(*network);
  // A value that the plan does not have by its name may have become part of a region, or one with
  // another, which is stored.
  const bool rounds_lost = draw % 2 == 1;
  const auto own_type = [&](const Value& value) -> std::optional<DataType> {
    const auto found = own.find(value.name);
    return found != own.end() && is_half(found->second) ? std::optional(found->second)
                                                        : std::nullopt;
  };
  const auto type_of_result = [&](const Value& value) -> std::optional<DataType> {
    if (const auto type = own_type(value)) return type;
    if (!precision.has_value() || value.name.empty()) return precision;
    const auto found = types.find(value.name);
    if (found == types.end() && rounds_lost) return precision;
    if (found == types.end() || !is_half(found->second)) return std::nullopt;
    return found->second;
  };
  // The passes give a node that computes in 16 bits operands of that type. Constants may have
  // become others before that.
  const auto is_read_narrow = [&](const Use& use) {
    return !keeps_operand(*use.node, use.index) &&
           std::ranges::any_of(use.node->outputs(), [&](const Value* result) {
             return result->type.type == DataType::kFloat32 && type_of_result(*result).has_value();
           });
  };
  const auto stored = [&](const Value& value) -> std::optional<DataType> {
    const bool is_constant = value.constant() != nullptr;
    if (value.producer() != nullptr && !is_constant) return type_of_result(value);
    if (!precision.has_value() || own_type(value).has_value()) return std::nullopt;
    const bool follows = !is_constant || rounds_lost;
    const bool rounds =
        feeds_products(value) || (follows && std::ranges::any_of(value.uses(), is_read_narrow));
    return rounds ? precision : std::nullopt;
  };
  TENON_ASSIGN(const auto graph,
               with_rounding(*wide, {.stored = stored, .products_in_tf32 = in_tf32, .draw = draw}));
  return run(*graph);
}

void NetworkReference::take_larger_draw(int draw, std::vector<Tensor>& furthest) const {
  auto outputs = rounded({}, std::nullopt, false, draw);
  if (!outputs.ok()) return;
  if (furthest.empty()) furthest = *outputs;
  for (size_t i = 0; i < furthest.size(); ++i)
    if (distance((*outputs)[i], outputs_[i]) > distance(furthest[i], outputs_[i]))
      furthest[i] = (*outputs)[i];
}

Result<std::map<std::string, Tensor>> NetworkReference::other_values() const {
  if (coarsest_type(network_) == DataType::kFloat32) return std::map<std::string, Tensor>();
  TENON_ASSIGN(const auto wide, widened(network_));
  return named_values(*wide, inputs_);
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
  TENON_ASSIGN(const auto wide, wide_with_extents(graph, extents_));
  return run(*wide);
}

Result<std::vector<Tensor>> NetworkReference::outputs_as_typed(
    const Graph& graph, std::span<const Tensor> inputs) const {
  if (on_processor_) {
    auto outputs = evaluate_on_processor(graph, extents_, inputs);
    if (outputs.ok()) return outputs;
  }
  return evaluate_graph(graph, inputs);
}

}  // namespace tenon
