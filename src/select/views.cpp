#include "select/views.h"

#include <algorithm>
#include <set>

#include "ops/control_flow.h"
#include "ops/ops.h"
#include "select/fit_regions.h"

namespace tenon {
namespace {

bool is_compute(const Node& node) {
  return !node.is<Constant>() && !node.is<Dims>() && node.tactic != kViewTactic;
}

bool moves_data(const Node& node) {
  return node.is<Identity>() || node.is<Reformat>() || node.is<Reshape>() || node.is<Flatten>() ||
         node.is<Squeeze>() || node.is<Unsqueeze>() || node.is<Transpose>() || node.is<Slice>() ||
         node.is<Split>() || node.is<Expand>();
}

/// Of a node that can write its results where they lie in a larger tensor: by a kernel of its own,
/// or as a concat whose own inputs are computed in place.
bool writes_anywhere(const Node& node) {
  return (is_compute(node) && !is_control_flow(node)) || node.is<Concat>();
}

/// A concat whose inputs can each be computed in place, for this concat alone.
bool may_join_in_place(const Graph& graph, const Node& concat) {
  std::set<const Value*> seen;
  for (const Value* input : concat.inputs()) {
    if (input->producer() == nullptr || !writes_anywhere(*input->producer()) ||
        graph.is_output(input))
      return false;
    if (!seen.insert(input).second) return false;
    for (const Use& use : input->uses())
      if (use.node != &concat && use.node->is<Concat>() && use.node->tactic == kViewTactic)
        return false;
  }
  return true;
}

Problem made_dense(Problem problem) {
  for (Operand& operand : problem.inputs) operand.strides.clear();
  for (Operand& operand : problem.outputs) operand.strides.clear();
  return problem;
}

bool is_strided(const Operand& operand) {
  return operand.present && !operand.dense();
}

class Chooser {
 public:
  Chooser(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads)
      : graph_(graph), backend_(backend), symbols_(symbols), threads_(threads) {}

  Status run() {
    TENON_ASSIGN(const ConcreteGraph first, ConcreteGraph::create(graph_, symbols_));
    bool all_resolved = true;
    for (const auto& node : graph_.nodes()) all_resolved &= first.resolved(*node);
    for (const auto& node : graph_.nodes())
      if (node->tactic.empty() && moves_data(*node) && first.resolved(*node))
        node->tactic = kViewTactic;
    if (all_resolved)
      for (const auto& node : graph_.nodes())
        if (node->tactic.empty() && node->is<Concat>() && may_join_in_place(graph_, *node))
          node->tactic = kViewTactic;
    do {
      changed_ = false;
      TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph_, symbols_));
      take_back_impossible(concrete);
      for (const auto& node : graph_.nodes())
        if (is_compute(*node) && concrete.resolved(*node))
          check_users(concrete.problem(*node, backend_, threads_), *node);
      for (const Value* output : graph_.outputs())
        if (concrete.resolved(output) && !concrete.storage(output).strides.empty())
          take_back(output->producer());
    } while (changed_);
    return {};
  }

 private:
  void take_back(Node* node) {
    if (node == nullptr || node->tactic != kViewTactic) return;
    node->tactic.clear();
    changed_ = true;
  }

  /// The nodes that are no views of their input.
  void take_back_impossible(const ConcreteGraph& concrete) {
    for (const auto& node : graph_.nodes())
      if (node->tactic == kViewTactic && !concrete.is_view(*node)) take_back(node.get());
  }

  /// Copies operands that a node cannot read or write where they lie, or only by a fallback kernel.
  void check_users(const Problem& problem, const Node& node) {
    const Problem dense = made_dense(problem);
    if (std::ranges::none_of(problem.inputs, is_strided) &&
        std::ranges::none_of(problem.outputs, is_strided))
      return;
    if (!has_kernel(backend_, problem)) {
      if (has_kernel(backend_, dense)) copy_for(node, problem, dense);
    } else if (!has_fast_kernel(backend_, problem) && has_fast_kernel(backend_, dense)) {
      copy_for(node, problem, fewest_dense(problem, dense));
    }
  }

  /// With the operands strided for which a fast kernel is still there.
  Problem fewest_dense(const Problem& problem, Problem dense) const {
    const auto try_all = [&](const std::vector<Operand>& given, std::vector<Operand>& operands) {
      for (size_t i = 0; i < given.size(); ++i) {
        if (!is_strided(given[i])) continue;
        operands[i].strides = given[i].strides;
        if (!has_fast_kernel(backend_, dense)) operands[i].strides.clear();
      }
    };
    try_all(problem.inputs, dense.inputs);
    try_all(problem.outputs, dense.outputs);
    return dense;
  }

  /// Takes back the views of operands that are strided in the one problem and not in the other.
  void copy_for(const Node& node, const Problem& problem, const Problem& wanted) {
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      if (is_strided(problem.inputs[i]) && !is_strided(wanted.inputs[i]))
        take_back_source(node.inputs()[i]);
    for (size_t i = 0; i < problem.outputs.size(); ++i)
      if (is_strided(problem.outputs[i]) && !is_strided(wanted.outputs[i]))
        take_back_concats(node.outputs()[i]);
  }

  /// The view that made the value strided: its producer, or the concat that holds it.
  void take_back_source(const Value* value) {
    if (value->producer() != nullptr && value->producer()->tactic == kViewTactic)
      take_back(value->producer());
    else
      take_back_concats(value);
  }

  void take_back_concats(const Value* value) {
    for (const Use& use : value->uses())
      if (use.node->is<Concat>()) take_back(use.node);
  }

  Graph& graph_;
  const Backend& backend_;
  const SymbolValues& symbols_;
  int threads_;
  bool changed_ = false;
};

}  // namespace

Status choose_views(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                    int threads) {
  return Chooser(graph, backend, symbols, threads).run();
}

}  // namespace tenon
