#include <fmt/format.h>

#include <algorithm>

#include "base/guard.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Whether an operand may be null though its place is within the operand list.
bool may_be_absent(const Node& node, int index) {
  if (node.is<Plugin>()) return true;
  if (node.is<Loop>()) return index < 2;
  const OpInfo& info = op_info(node.kind());
  return info.max_inputs >= 0 && index >= info.min_inputs;
}

bool within(int64_t count, int min, int max) {
  return count >= min && (max < 0 || count <= max);
}

std::string bounds_text(int min, int max) {
  if (max < 0) return fmt::format("at least {}", min);
  return min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max);
}

Status check_counts(const Node& node, const InferContext& context) {
  const OpInfo& info = op_info(node.kind());
  const int inputs = static_cast<int>(node.inputs().size());
  const int outputs = static_cast<int>(node.outputs().size());
  if (!within(inputs, info.min_inputs, info.max_inputs))
    return context.fail(fmt::format("takes {} inputs, not {}",
                                    bounds_text(info.min_inputs, info.max_inputs), inputs));
  if (!within(outputs, info.min_outputs, info.max_outputs))
    return context.fail(fmt::format("gives {} outputs, not {}",
                                    bounds_text(info.min_outputs, info.max_outputs), outputs));
  for (int i = 0; i < inputs; ++i)
    if (!node.has_input(i) && !may_be_absent(node, i))
      return context.fail(fmt::format("input {} is missing", i));
  return {};
}

bool wants_elements(const Value& value) {
  if (is_real(value.type.type) || value.elements || !is_constant(value.type.shape)) return false;
  return element_count(constants(value.type.shape)) <= kMaxKnownElements;
}

/// An input's contents when they are small and known: a constant, or elements that are constants.
std::optional<Tensor> small_contents(const InferContext& context, int index) {
  if (const Tensor* tensor = context.constant(index))
    return tensor->count() <= kMaxKnownElements ? std::optional(*tensor) : std::nullopt;
  const auto values = context.integers(index);
  const TensorType& type = context.input(index);
  if (!values || !is_constant(type.shape)) return std::nullopt;
  Tensor tensor(type.type, constants(type.shape));
  if (tensor.count() != static_cast<int64_t>(values->size())) return std::nullopt;
  for (size_t i = 0; i < values->size(); ++i)
    tensor.set_from_int64(static_cast<int64_t>(i), (*values)[i]);
  return tensor;
}

/// Known contents of small integer outputs by evaluation, where all inputs are known.
void fold_elements(Node& node, const InferContext& context) {
  if (!node.bodies.empty() || node.is<Plugin>() || node.inputs().empty()) return;
  const auto& outputs = node.outputs();
  if (std::none_of(outputs.begin(), outputs.end(), [](auto* v) { return wants_elements(*v); }))
    return;
  std::vector<Tensor> tensors(node.inputs().size());
  std::vector<const Tensor*> inputs(tensors.size(), nullptr);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!node.has_input(static_cast<int>(i))) continue;
    auto contents = small_contents(context, static_cast<int>(i));
    if (!contents) return;
    tensors[i] = std::move(*contents);
    inputs[i] = &tensors[i];
  }
  const auto results = evaluate_node(node, inputs);
  if (!results.ok()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!wants_elements(*outputs[i])) continue;
    const std::vector<int64_t> values = (*results)[i].to_int64s();
    outputs[i]->elements.emplace(values.begin(), values.end());
  }
}

}  // namespace

Status infer_node(Node& node, std::span<const Tensor* const> known) {
  InferContext context(node, known);
  TENON_TRY(check_counts(node, context));
  try {
    TENON_TRY(op_info(node.kind()).infer(*node.op, context));
    context.name_own_extents();
    fold_elements(node, context);
  } catch (...) {
    return error_of_exception(fmt::format("node \"{}\" ({})", node.name, node.op->name()));
  }
  return {};
}

Status infer_graph(Graph& graph) {
  for (const auto& node : graph.nodes()) TENON_TRY(infer_node(*node));
  return {};
}

}  // namespace tenon
