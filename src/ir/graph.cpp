#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace tenon {

const Tensor* Value::constant() const {
  return producer_ == nullptr ? nullptr : producer_->op->constant_value();
}

void Node::drop_use(int index) {
  Value* value = inputs_[index];
  if (value == nullptr) return;
  std::erase_if(value->uses_,
                [&](const Use& use) { return use.node == this && use.index == index; });
}

void Node::set_input(int index, Value* value) {
  if (index >= static_cast<int>(inputs_.size())) inputs_.resize(index + 1, nullptr);
  drop_use(index);
  inputs_[index] = value;
  if (value != nullptr) value->uses_.push_back({this, index});
}

void Node::append_input(Value* value) {
  set_input(static_cast<int>(inputs_.size()), value);
}

void Node::truncate_inputs(int count) {
  while (static_cast<int>(inputs_.size()) > count) {
    drop_use(static_cast<int>(inputs_.size()) - 1);
    inputs_.pop_back();
  }
}

Value* Node::append_output() {
  auto value = std::make_unique<Value>();
  value->producer_ = this;
  value->index_ = static_cast<int>(outputs_.size());
  outputs_.push_back(value.get());
  graph_->values_.push_back(std::move(value));
  return outputs_.back();
}

bool Node::has_side_effects() const {
  if (op->has_side_effects()) return true;
  return std::any_of(bodies.begin(), bodies.end(), [](const auto& body) {
    const auto nodes = body->nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const auto& node) { return node->has_side_effects(); });
  });
}

Graph::Graph() = default;
Graph::~Graph() = default;

Graph::Graph(Graph&& other) noexcept {
  *this = std::move(other);
}

Graph& Graph::operator=(Graph&& other) noexcept {
  name = std::move(other.name);
  symbol_ranges = std::move(other.symbol_ranges);
  nodes_ = std::move(other.nodes_);
  values_ = std::move(other.values_);
  inputs_ = std::move(other.inputs_);
  outputs_ = std::move(other.outputs_);
  next_symbol_ = other.next_symbol_;
  for (const auto& node : nodes_) node->graph_ = this;
  return *this;
}

Value* Graph::add_input(std::string name, TensorType type) {
  auto value = std::make_unique<Value>();
  value->name = std::move(name);
  value->type = std::move(type);
  value->index_ = static_cast<int>(inputs_.size());
  inputs_.push_back(value.get());
  values_.push_back(std::move(value));
  return inputs_.back();
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

void Graph::erase_input(int index) {
  const Value* value = inputs_[index];
  inputs_.erase(inputs_.begin() + index);
  for (size_t i = index; i < inputs_.size(); ++i) inputs_[i]->index_ = static_cast<int>(i);
  std::erase_if(values_, [value](const auto& owned) { return owned.get() == value; });
}

Node* Graph::add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, int output_count,
                      std::string name) {
  auto node = std::make_unique<Node>();
  node->op = std::move(op);
  node->name = std::move(name);
  node->graph_ = this;
  for (Value* input : inputs) node->append_input(input);
  for (int i = 0; i < output_count; ++i) node->append_output();
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Use> uses = from->uses_;
  for (const Use& use : uses) use.node->set_input(use.index, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::erase(Node* node) {
  node->truncate_inputs(0);
  for (const Value* output : node->outputs_) {
    const auto found = std::find_if(values_.rbegin(), values_.rend(),
                                    [&](const auto& value) { return value.get() == output; });
    values_.erase(std::next(found).base());
  }
  const auto found = std::find_if(nodes_.rbegin(), nodes_.rend(),
                                  [&](const auto& owned) { return owned.get() == node; });
  nodes_.erase(std::next(found).base());
}

namespace {

using Symbols = std::unordered_set<std::string>;

/// Of extents and known contents.
void add_symbols(const Value& value, Symbols& symbols) {
  const auto add = [&](const Dim& dim) {
    if (dim.is_constant()) return;
    for (std::string& name : dim.symbols()) symbols.insert(std::move(name));
  };
  std::ranges::for_each(value.type.shape, add);
  if (value.elements.has_value()) std::ranges::for_each(*value.elements, add);
}

/// Extents of the node's results that its operands do not tell.
Symbols decided_by(const Node& node) {
  Symbols decided, told;
  for (const Value* output : node.outputs())
    for (const Dim& dim : output->type.shape)
      if (!dim.is_constant())
        if (auto name = dim.as_symbol()) decided.insert(std::move(*name));
  if (decided.empty()) return decided;
  for (const Value* input : node.inputs())
    if (input != nullptr) add_symbols(*input, told);
  std::erase_if(decided, [&](const std::string& name) { return told.contains(name); });
  return decided;
}

/// The nodes that a graph's results need.
class Liveness {
 public:
  explicit Liveness(const Graph& graph) : graph_(graph) {
    for (const Value* output : graph.outputs()) reach(output->producer());
    for (const auto& node : graph.nodes())
      if (node->has_side_effects()) reach(node.get());
    do spread();
    while (reach_deciders());
  }
  bool contains(const Node* node) const { return alive_.contains(node); }

 private:
  void reach(const Node* node) {
    if (node != nullptr && alive_.insert(node).second) work_.push_back(node);
  }

  void spread() {
    while (!work_.empty()) {
      const Node* node = work_.back();
      work_.pop_back();
      for (const Value* input : node->inputs())
        if (input != nullptr) reach(input->producer());
    }
  }

  /// Nodes whose results nothing reads but their extents, which depend on data.
  bool reach_deciders() {
    std::vector<std::pair<const Node*, Symbols>> deciders;
    for (const auto& node : graph_.nodes())
      if (!contains(node.get()))
        if (Symbols decided = decided_by(*node); !decided.empty())
          deciders.emplace_back(node.get(), std::move(decided));
    if (deciders.empty()) return false;
    Symbols open = open_symbols();
    for (const auto& [node, decided] : deciders) {
      const auto is_open = [&](const std::string& name) { return open.contains(name); };
      if (std::ranges::none_of(decided, is_open)) continue;
      reach(node);
      for (const std::string& name : decided) open.erase(name);
    }
    return !work_.empty();
  }

  /// Symbols in use that neither an input nor a node that stays decides.
  Symbols open_symbols() const {
    Symbols open;
    for (const auto& node : graph_.nodes())
      if (contains(node.get()))
        for (const Value* output : node->outputs()) add_symbols(*output, open);
    Symbols known;
    for (const Value* input : graph_.inputs()) add_symbols(*input, known);
    for (const auto& node : graph_.nodes())
      if (contains(node.get())) known.merge(decided_by(*node));
    std::erase_if(open, [&](const std::string& name) { return known.contains(name); });
    return open;
  }

  const Graph& graph_;
  std::unordered_set<const Node*> alive_;
  std::vector<const Node*> work_;
};

}  // namespace

int Graph::remove_dead() {
  const Liveness alive(*this);
  const auto dead = [&](const Node* node) { return node != nullptr && !alive.contains(node); };
  for (const auto& node : nodes_)
    if (dead(node.get())) node->truncate_inputs(0);
  std::erase_if(values_, [&](const auto& value) { return dead(value->producer()); });
  return static_cast<int>(
      std::erase_if(nodes_, [&](const auto& node) { return dead(node.get()); }));
}

namespace {

/// Names of the nodes of one cycle among `blocked`, each of which waits for another of them.
std::string describe_cycle(const std::unordered_set<const Node*>& blocked, const Node* start) {
  std::vector<const Node*> path;
  std::unordered_map<const Node*, size_t> position;
  const Node* node = start;
  while (position.emplace(node, path.size()).second) {
    path.push_back(node);
    for (const Value* input : node->inputs()) {
      if (input == nullptr || !blocked.contains(input->producer())) continue;
      node = input->producer();
      break;
    }
  }
  std::string text;
  for (size_t i = path.size(); i-- > position[node];) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : " -> ", path[i]->name);
    if (path[i]->name.empty()) text += fmt::format(" ({})", path[i]->op->name());
  }
  return text;
}

}  // namespace

Status Graph::sort() {
  std::unordered_map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes_.size(); ++i) position[nodes_[i].get()] = i;
  std::vector<int> waiting(nodes_.size(), 0);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Value* input : nodes_[i]->inputs())
      if (input != nullptr && position.contains(input->producer())) ++waiting[i];
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const Value* output : nodes_[next]->outputs())
      for (const Use& use : output->uses())
        if (--waiting[position[use.node]] == 0) ready.push(position[use.node]);
  }
  if (order.size() != nodes_.size()) {
    std::unordered_set<const Node*> blocked;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (waiting[i] > 0) blocked.insert(nodes_[i].get());
    const auto first = std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; });
    return user_error("the graph \"{}\" has a cycle: {}", name,
                      describe_cycle(blocked, nodes_[first - waiting.begin()].get()));
  }
  // Half a move would leave a graph that is none.
  std::vector<std::unique_ptr<Node>> sorted;
  sorted.reserve(order.size());
  for (const size_t index : order) sorted.push_back(std::move(nodes_[index]));
  nodes_ = std::move(sorted);
  return {};
}

std::unique_ptr<Graph> Graph::clone(std::vector<std::pair<const Value*, Value*>>* mapping) const {
  auto copy = std::make_unique<Graph>();
  copy->name = name;
  copy->symbol_ranges = symbol_ranges;
  copy->next_symbol_ = next_symbol_;
  std::unordered_map<const Value*, Value*> twins;
  const auto pair = [&](const Value* from, Value* to) {
    to->name = from->name;
    to->type = from->type;
    to->elements = from->elements;
    twins[from] = to;
    if (mapping != nullptr) mapping->emplace_back(from, to);
  };
  for (const Value* input : inputs_) pair(input, copy->add_input(input->name, input->type));
  // Values first, so that the order of nodes does not matter.
  for (const auto& node : nodes_) {
    Node* twin =
        copy->add_node(node->op->clone(), {}, static_cast<int>(node->outputs().size()), node->name);
    twin->origins = node->origins;
    twin->tactic = node->tactic;
    twin->packed = node->packed;
    for (const auto& body : node->bodies) twin->bodies.push_back(body->clone());
    for (size_t i = 0; i < node->outputs().size(); ++i)
      pair(node->outputs()[i], twin->outputs()[i]);
  }
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (Value* input : nodes_[i]->inputs())
      copy->nodes_[i]->append_input(input == nullptr ? nullptr : twins.at(input));
  for (const Value* output : outputs_) copy->outputs_.push_back(twins.at(output));
  return copy;
}

Dim Graph::fresh_symbol(Range range) {
  const auto is_taken = [&](const std::string& symbol) {
    if (symbol_ranges.contains(symbol)) return true;
    for (const Value* input : inputs_)
      for (const Dim& extent : input->type.shape)
        for (const std::string& used : extent.symbols())
          if (used == symbol) return true;
    return false;
  };
  std::string symbol;
  do {
    symbol = fmt::format("d{}", next_symbol_++);
  } while (is_taken(symbol));
  symbol_ranges[symbol] = range;
  return Dim::symbol(symbol);
}

}  // namespace tenon
