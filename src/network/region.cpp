#include "network/region.h"

#include "ops/structure.h"

namespace tenon::network {

std::vector<Node*> nodes_between(const Graph& graph, const std::vector<Value*>& entries,
                                 const std::vector<Value*>& exits, bool effects) {
  std::set<const Value*> after(entries.begin(), entries.end());
  std::vector<Node*> reached;
  for (const auto& node : graph.nodes()) {
    bool depends = false;
    for (const Value* input : node->inputs()) depends = depends || after.count(input) != 0;
    if (!depends) continue;
    reached.push_back(node.get());
    after.insert(node->outputs().begin(), node->outputs().end());
  }
  std::set<const Value*> before(exits.begin(), exits.end());
  std::vector<Node*> between;
  for (auto node = reached.rbegin(); node != reached.rend(); ++node) {
    bool needed = effects && (*node)->has_side_effects();
    for (const Value* output : (*node)->outputs()) needed = needed || before.count(output) != 0;
    if (!needed) continue;
    between.insert(between.begin(), *node);
    before.insert((*node)->inputs().begin(), (*node)->inputs().end());
  }
  return between;
}

Node* copy_node(Graph& graph, const Node& node, std::vector<Value*> inputs) {
  Node* copy = graph.add_node(node.op->clone(), std::move(inputs),
                              static_cast<int>(node.outputs().size()), node.name);
  copy->origins = node.origins;
  for (const auto& body : node.bodies) copy->bodies.push_back(body->clone());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* output = copy->output(static_cast<int>(i));
    const Value* original = node.outputs()[i];
    output->name = original->name;
    output->type = original->type;
    output->elements = original->elements;
  }
  return copy;
}

Value* BodyBuilder::add_input(std::string name, TensorType type) {
  return graph_->add_input(std::move(name), std::move(type));
}

Value* BodyBuilder::capture(Value* outer) {
  captures_.push_back(outer);
  Value* input = graph_->add_input(outer->name, outer->type);
  inside_[outer] = input;
  return input;
}

void BodyBuilder::capture_all(const std::vector<Value*>& values) {
  for (Value* value : values) (void)inner(value);
}

Value* BodyBuilder::inner(Value* outer) {
  if (outer == nullptr) return nullptr;
  const auto found = inside_.find(outer);
  if (found != inside_.end()) return found->second;
  if (outer->producer() == nullptr || !outer->producer()->is<Constant>()) return capture(outer);
  Value* copy = copy_node(*graph_, *outer->producer(), {})->output();
  inside_[outer] = copy;
  return copy;
}

void BodyBuilder::copy(const std::vector<Node*>& nodes) {
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(inner(input));
    const Node* copied = copy_node(*graph_, *node, std::move(inputs));
    for (size_t i = 0; i < node->outputs().size(); ++i)
      inside_[node->outputs()[i]] = copied->output(static_cast<int>(i));
  }
}

Value* BodyBuilder::recompute(const std::vector<Node*>& nodes,
                              std::map<const Value*, Value*> others, Value* result) {
  const auto value_of = [&](Value* outer) {
    const auto found = others.find(outer);
    return found == others.end() ? inner(outer) : found->second;
  };
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(value_of(input));
    Node* copied = copy_node(*graph_, *node, std::move(inputs));
    copied->name += ".next";
    for (size_t i = 0; i < node->outputs().size(); ++i)
      others[node->outputs()[i]] = copied->output(static_cast<int>(i));
  }
  return value_of(result);
}

void BodyBuilder::add_output(Value* inner) {
  // A body gives a value once, and one of its own.
  if (inner->producer() == nullptr || graph_->is_output(inner)) {
    Node* node = graph_->add_node(std::make_unique<Identity>(), {inner}, 1);
    node->name = "output" + std::to_string(graph_->outputs().size());
    node->output()->type = inner->type;
    inner = node->output();
  }
  graph_->add_output(inner);
}

}  // namespace tenon::network
