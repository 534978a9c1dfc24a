#include <fmt/format.h>

#include <unordered_map>

#include "base/guard.h"
#include "base/stop.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Values that are alive while a graph is evaluated.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const ValueObserver& observer, const SymbolValues* symbols)
      : graph_(graph), observer_(observer) {
    if (symbols != nullptr) symbols_ = *symbols;
    for (const auto& node : graph.nodes())
      for (const Value* input : node->inputs())
        if (input != nullptr) ++pending_[input];
    for (const Value* output : graph.outputs()) ++pending_[output];
  }

  /// Symbols that stand alone in a value's type take the extents of its contents, symbols that are
  /// elements of an input take its contents.
  void bind_symbols(const Value& value, const Tensor& tensor) {
    const Shape& shape = value.type.shape;
    if (shape.size() != tensor.extents().size()) return;
    for (size_t i = 0; i < shape.size(); ++i)
      if (const auto symbol = shape[i].as_symbol())
        symbols_.insert_or_assign(*symbol, tensor.extents()[i]);
    if (value.producer() != nullptr || !value.elements || is_real(tensor.type())) return;
    const std::vector<int64_t> contents = tensor.to_int64s();
    for (size_t i = 0; i < std::min(contents.size(), value.elements->size()); ++i)
      if (const auto symbol = (*value.elements)[i].as_symbol())
        symbols_.insert_or_assign(*symbol, contents[i]);
  }

  void define(const Value* value, Tensor tensor) {
    bind_symbols(*value, tensor);
    if (observer_) observer_(*value, tensor);
    if (pending_.contains(value)) alive_[value] = std::move(tensor);
  }

  Status run(const Node& node) {
    std::vector<const Tensor*> inputs;
    for (const Value* input : node.inputs()) {
      TENON_ASSIGN(const Tensor* tensor, find(node, input));
      inputs.push_back(tensor);
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(node, inputs, &symbols_));
    for (const Value* input : node.inputs())
      if (input != nullptr && --pending_[input] == 0) alive_.erase(input);
    for (size_t i = 0; i < results.size(); ++i) define(node.outputs()[i], std::move(results[i]));
    return {};
  }

  Result<std::vector<Tensor>> outputs() const {
    std::vector<Tensor> results;
    for (const Value* output : graph_.outputs()) {
      const auto found = alive_.find(output);
      if (found == alive_.end())
        return internal_error("graph \"{}\": output \"{}\" was not computed", graph_.name,
                              output->name);
      results.push_back(found->second);
    }
    return results;
  }

 private:
  Result<const Tensor*> find(const Node& node, const Value* value) const {
    if (value == nullptr) return static_cast<const Tensor*>(nullptr);
    const auto found = alive_.find(value);
    if (found == alive_.end())
      return internal_error("node \"{}\" ({}) uses \"{}\" before it is computed", node.name,
                            node.op->name(), value->name);
    return &found->second;
  }

  const Graph& graph_;
  const ValueObserver& observer_;
  SymbolValues symbols_;
  std::unordered_map<const Value*, int> pending_;  ///< Uses still to come.
  std::unordered_map<const Value*, Tensor> alive_;
};

bool fits(const TensorType& type, const Tensor& tensor) {
  if (type.type != tensor.type() || type.shape.size() != tensor.extents().size()) return false;
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (type.shape[i].is_constant() && type.shape[i].constant() != tensor.extents()[i])
      return false;
  return true;
}

Status check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    return user_error("graph \"{}\" takes {} inputs, not {}", graph.name, graph.inputs().size(),
                      inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = *graph.inputs()[i];
    if (!fits(input.type, inputs[i]))
      return user_error("graph \"{}\", input \"{}\": {}{} expected, {}{} given", graph.name,
                        input.name, name_of(input.type.type), to_string(input.type.shape),
                        name_of(inputs[i].type()), to_string(to_shape(inputs[i].extents())));
  }
  return {};
}

Status evaluate_into(const Node& node, EvalContext& context) {
  try {
    return op_info(node.kind()).evaluate(*node.op, context);
  } catch (...) {
    return error_of_exception(fmt::format("node \"{}\" ({})", node.name, node.op->name()));
  }
}

Result<std::vector<Tensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs,
                                     const ValueObserver& observer, const SymbolValues* symbols) {
  Evaluation evaluation(graph, observer, symbols);
  for (size_t i = 0; i < inputs.size(); ++i) evaluation.define(graph.inputs()[i], inputs[i]);
  for (const auto& node : graph.nodes()) {
    TENON_TRY(go_on("the evaluation of a network"));
    TENON_TRY(evaluation.run(*node));
  }
  return evaluation.outputs();
}

}  // namespace

Result<std::vector<Tensor>> evaluate_node(const Node& node, std::span<const Tensor* const> inputs,
                                          const SymbolValues* symbols) {
  const OpInfo& info = op_info(node.kind());
  if (static_cast<int>(inputs.size()) < info.min_inputs)
    return user_error("node \"{}\" ({}): takes at least {} inputs, not {}", node.name,
                      node.op->name(), info.min_inputs, inputs.size());
  EvalContext context(node, inputs);
  context.set_symbols(symbols);
  TENON_TRY(evaluate_into(node, context));
  return std::move(context.outputs());
}

Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs) {
  return evaluate_graph(graph, inputs, ValueObserver());
}

Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs,
                                           const ValueObserver& observer) {
  TENON_TRY(check_inputs(graph, inputs));
  return evaluate(graph, inputs, observer, nullptr);
}

Result<std::vector<Tensor>> evaluate_body(const Graph& body, std::span<const Tensor> inputs,
                                          const SymbolValues* symbols) {
  if (inputs.size() != body.inputs().size())
    return internal_error("a body takes {} inputs, not {}", body.inputs().size(), inputs.size());
  return evaluate(body, inputs, ValueObserver(), symbols);
}

}  // namespace tenon
