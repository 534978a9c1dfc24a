#include "plan/graph_parts.h"

#include <algorithm>
#include <unordered_set>

#include "kernels/backend.h"
#include "ops/control_flow.h"
#include "ops/dims.h"
#include "ops/ops.h"
#include "ops/structure.h"
#include "plan/shape_values.h"

namespace tenon {
namespace {

bool is_known(const Dim& dim, const std::set<std::string>& known) {
  const std::vector<std::string> names = dim.symbols();
  return std::ranges::all_of(names, [&](const std::string& name) { return known.contains(name); });
}

bool is_known(const Value& value, const std::set<std::string>& known) {
  return std::ranges::all_of(value.type.shape,
                             [&](const Dim& dim) { return is_known(dim, known); });
}

/// Symbols that the contents of a `dims` depend on.
std::vector<std::string> symbols_of(const Dims& dims) {
  std::vector<std::string> names;
  for (const std::string& text : dims.expressions)
    if (const auto dim = Dim::parse(text); dim.ok())
      for (std::string& name : dim->symbols()) names.push_back(std::move(name));
  return names;
}

void add_symbols(const Graph& graph, std::set<std::string>& symbols) {
  const auto add = [&](const Value* value) {
    for (const Dim& dim : value->type.shape)
      for (std::string& name : dim.symbols()) symbols.insert(std::move(name));
  };
  std::ranges::for_each(graph.inputs(), add);
  for (const auto& node : graph.nodes()) {
    std::ranges::for_each(node->outputs(), add);
    if (const auto* dims = node->as<Dims>())
      for (std::string& name : symbols_of(*dims)) symbols.insert(std::move(name));
    for (const auto& body : node->bodies) add_symbols(*body, symbols);
  }
}

class Splitter {
 public:
  Splitter(const Graph& graph, std::set<std::string> known)
      : graph_(graph), known_(std::move(known)) {}

  Result<std::vector<GraphPart>> all() {
    there_.insert(graph_.inputs().begin(), graph_.inputs().end());
    for (const auto& node : graph_.nodes())
      if (!is_constant(*node)) pending_.push_back(node.get());
    while (!pending_.empty()) {
      const size_t before = pending_.size();
      TENON_TRY(add_stretch());
      add_deciding();
      if (pending_.size() == before)
        return internal_error("layer '{}' uses extents that nothing decides", pending_[0]->name);
    }
    return std::move(parts_);
  }

 private:
  /// Nodes that use extents come after the nodes that decide these, which the order of the graph
  /// does not tell.
  bool is_ready(const Node& node) const {
    return std::ranges::all_of(node.inputs(), [&](const Value* value) {
      if (value == nullptr || there_.contains(value)) return true;
      const Node* producer = value->producer();
      if (producer == nullptr || !is_constant(*producer)) return false;
      const auto* dims = producer->as<Dims>();
      return dims == nullptr || std::ranges::all_of(symbols_of(*dims), [&](const auto& name) {
               return known_.contains(name);
             });
    });
  }

  /// Whether the extents in it follow from the symbols that are known.
  bool is_steady(const Node& node) const {
    const auto known = [&](const Value* value) { return is_known(*value, known_); };
    if (!std::ranges::all_of(node.outputs(), known)) return false;
    if (!is_control_flow(node)) return true;
    for (size_t i = 0; i < node.bodies.size(); ++i)
      if (may_run(node, static_cast<int>(i)) && has_open_extents(*node.bodies[i], known_))
        return false;
    if (node.is<If>()) return true;
    // The number of slices that a loop stacks may be data; scans along another axis are the
    // host's.
    const Recurrence recurrence(node);
    bool first_axes = recurrence.first == 0 || recurrence.stacked == 0;
    for (int i = 0; i < recurrence.scanned; ++i) first_axes &= recurrence.input_axis(node, i) == 0;
    for (int i = 0; i < recurrence.stacked; ++i) first_axes &= recurrence.output_axis(node, i) == 0;
    return first_axes;
  }

  Status add_stretch() {
    std::vector<const Node*> nodes;
    for (bool more = true; more;) {
      const size_t before = nodes.size();
      std::erase_if(pending_, [&](const Node* node) {
        if (!is_ready(*node) || !is_steady(*node)) return false;
        nodes.push_back(node);
        there_.insert(node->outputs().begin(), node->outputs().end());
        return true;
      });
      more = nodes.size() > before;
    }
    if (nodes.empty()) return {};
    TENON_ASSIGN(parts_.emplace_back(), stretch_of(nodes));
    return {};
  }

  /// Those that are ready by now; the symbols that one decides may make the next one steady.
  void add_deciding() {
    std::vector<const Node*> ready;
    std::ranges::copy_if(pending_, std::back_inserter(ready),
                         [&](const Node* node) { return is_ready(*node); });
    for (const Node* node : ready) {
      if (is_steady(*node)) continue;
      parts_.emplace_back().node = node;
      std::erase(pending_, node);
      there_.insert(node->outputs().begin(), node->outputs().end());
      for (const Value* value : node->outputs())
        for (const Dim& dim : value->type.shape)
          if (auto name = dim.as_symbol()) known_.insert(std::move(*name));
    }
  }

  Result<GraphPart> stretch_of(const std::vector<const Node*>& nodes) const {
    GraphPart part;
    part.graph = std::make_unique<Graph>();
    part.graph->name = graph_.name;
    part.graph->symbol_ranges = graph_.symbol_ranges;
    std::unordered_map<const Value*, Value*> twins;
    for (const Node* node : nodes) {
      for (const Value* value : node->inputs())
        if (value != nullptr && !twins.contains(value)) add_operand(*value, part, twins);
      copy(*node, part, twins);
    }
    const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
    for (const Node* node : nodes)
      for (const Value* value : node->outputs()) {
        const auto is_outside = [&](const Use& use) { return !inside.contains(use.node); };
        if (!graph_.is_output(value) && std::ranges::none_of(value->uses(), is_outside)) continue;
        part.outputs.push_back(value);
        part.graph->add_output(twins.at(value));
      }
    keep_apart(*part.graph);
    add_symbols(*part.graph, part.symbols);
    TENON_ASSIGN(part.rules, ExtentRules::of(*part.graph));
    return part;
  }

  static void add_operand(const Value& value, GraphPart& part,
                          std::unordered_map<const Value*, Value*>& twins) {
    if (value.producer() != nullptr && is_constant(*value.producer()))
      return copy(*value.producer(), part, twins);
    Value* twin = twins[&value] = part.graph->add_input(value.name, value.type);
    twin->elements = value.elements;
    part.inputs.push_back(&value);
  }

  static void copy(const Node& node, GraphPart& part,
                   std::unordered_map<const Value*, Value*>& twins) {
    std::vector<Value*> inputs;
    for (const Value* value : node.inputs())
      inputs.push_back(value == nullptr ? nullptr : twins.at(value));
    Node* twin = part.graph->add_node(node.op->clone(), std::move(inputs),
                                      static_cast<int>(node.outputs().size()), node.name);
    twin->origins = node.origins;
    twin->tactic = node.tactic;
    twin->packed = node.packed;
    for (const auto& body : node.bodies) twin->bodies.push_back(body->clone());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      Value &from = *node.outputs()[i], &to = *twin->outputs()[i];
      to.name = from.name;
      to.type = from.type;
      to.elements = from.elements;
      twins[&from] = &to;
    }
    part.originals[twin] = &node;
  }

  /// Results that other parts read have memory of their own, not a place in a concatenation.
  static void keep_apart(Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (!node->is<Concat>() || node->tactic != kViewTactic) continue;
      const auto crosses = [&](const Value* value) {
        return value->producer() == nullptr || graph.is_output(value);
      };
      if (std::ranges::any_of(node->inputs(), crosses)) node->tactic.clear();
    }
  }

  const Graph& graph_;
  std::set<std::string> known_;
  std::unordered_set<const Value*> there_;  ///< Computed by the parts so far.
  std::vector<const Node*> pending_;
  std::vector<GraphPart> parts_;
};

}  // namespace

Result<std::vector<GraphPart>> split_by_symbols(const Graph& graph, std::set<std::string> known) {
  return Splitter(graph, std::move(known)).all();
}

std::set<std::string> input_symbols(const Graph& graph) {
  std::set<std::string> known;
  const auto add = [&](const std::vector<Dim>& dims) {
    for (const Dim& dim : dims)
      for (std::string& name : dim.symbols()) known.insert(std::move(name));
  };
  for (const Value* input : graph.inputs()) {
    add(input->type.shape);
    if (is_shape_input(*input)) add(*input->elements);
  }
  return known;
}

bool is_open(const Node& node, const std::set<std::string>& known) {
  if (std::ranges::any_of(node.outputs(),
                          [&](const Value* value) { return !is_known(*value, known); }))
    return true;
  for (size_t i = 0; is_control_flow(node) && i < node.bodies.size(); ++i)
    if (may_run(node, static_cast<int>(i)) && has_open_extents(*node.bodies[i], known)) return true;
  return false;
}

bool has_open_extents(const Graph& graph, const std::set<std::string>& known) {
  return std::ranges::any_of(graph.inputs(),
                             [&](const Value* value) { return !is_known(*value, known); }) ||
         std::ranges::any_of(graph.nodes(),
                             [&](const auto& node) { return is_open(*node, known); });
}

}  // namespace tenon
