#include "ops/region.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/structure.h"

namespace tenon {
namespace {

using Mapping = std::unordered_map<const Value*, Value*>;

/// A copy of a node in another graph, its operands mapped.
Node* copy_node(const Node& node, Graph& to, Mapping& mapping) {
  std::vector<Value*> inputs;
  for (const Value* input : node.inputs())
    inputs.push_back(input == nullptr ? nullptr : mapping.at(input));
  Node* copy = to.add_node(node.op->clone(), std::move(inputs),
                           static_cast<int>(node.outputs().size()), node.name);
  copy->origins = node.origins;
  for (const auto& body : node.bodies) copy->bodies.push_back(body->clone());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* output = copy->outputs()[i];
    output->name = node.outputs()[i]->name;
    output->type = node.outputs()[i]->type;
    output->elements = node.outputs()[i]->elements;
    mapping[node.outputs()[i]] = output;
  }
  return copy;
}

bool used_outside(const Graph& graph, const Value* value,
                  const std::unordered_set<const Node*>& inside) {
  return graph.is_output(value) ||
         std::any_of(value->uses().begin(), value->uses().end(),
                     [&](const Use& use) { return !inside.contains(use.node); });
}

void append_unique(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& origin : from)
    if (std::find(to.begin(), to.end(), origin) == to.end()) to.push_back(origin);
}

}  // namespace

Node* make_region(Graph& graph, const std::vector<Node*>& nodes, std::string name) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  auto body = std::make_unique<Graph>();
  Mapping mapping;
  std::vector<Value*> inputs, outputs;
  std::vector<std::string> origins;
  std::string joined;
  for (const Node* node : nodes) {
    for (Value* input : node->inputs()) {
      if (input == nullptr || mapping.contains(input)) continue;
      mapping[input] = body->add_input(input->name, input->type);
      inputs.push_back(input);
    }
    copy_node(*node, *body, mapping);
    append_unique(origins, node->origins);
    joined += (joined.empty() ? "" : " + ") + node->name;
    for (Value* output : node->outputs())
      if (used_outside(graph, output, inside)) outputs.push_back(output);
  }
  for (const Value* output : outputs) body->add_output(mapping.at(output));
  Node* fused = graph.add_node(std::make_unique<Fused>(), inputs, static_cast<int>(outputs.size()),
                               name.empty() ? joined : std::move(name));
  fused->origins = std::move(origins);
  fused->bodies.push_back(std::move(body));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* output = fused->outputs()[i];
    output->name = outputs[i]->name;
    output->type = outputs[i]->type;
    graph.replace_uses(outputs[i], output);
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) graph.erase(*it);
  return fused;
}

std::vector<Node*> inline_region(Graph& graph, Node* fused) {
  const Graph& body = *fused->bodies[0];
  Mapping mapping;
  for (size_t i = 0; i < body.inputs().size(); ++i) mapping[body.inputs()[i]] = fused->inputs()[i];
  std::vector<Node*> members;
  for (const auto& node : body.nodes()) members.push_back(copy_node(*node, graph, mapping));
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    Value* value = mapping.at(body.outputs()[i]);
    value->name = fused->outputs()[i]->name;
    value->type.layout = fused->outputs()[i]->type.layout;
    graph.replace_uses(fused->outputs()[i], value);
  }
  graph.erase(fused);
  return members;
}

std::vector<Value*> inline_body(Graph& graph, const Graph& body,
                                const std::vector<Value*>& operands, const std::string& suffix) {
  Mapping mapping;
  for (size_t i = 0; i < body.inputs().size(); ++i) mapping[body.inputs()[i]] = operands[i];
  for (const auto& node : body.nodes()) copy_node(*node, graph, mapping)->name += suffix;
  std::vector<Value*> results;
  for (const Value* output : body.outputs()) results.push_back(mapping.at(output));
  return results;
}

void take_place(Graph& graph, Value* from, Value* to) {
  if (graph.is_output(from) &&
      (to->producer() == nullptr || graph.is_output(to) || to->constant() != nullptr)) {
    const TensorType type = to->type;
    to = graph.add_node(std::make_unique<Identity>(), {to}, 1, from->producer()->name)->output();
    to->type = type;
  }
  if (to->producer() != nullptr && to->constant() == nullptr && !graph.is_output(to))
    to->name = from->name;
  graph.replace_uses(from, to);
}

}  // namespace tenon
