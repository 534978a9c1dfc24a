// What a body computes from captured values alone is the same in each iteration, and is computed
// before the loop. What it computes of element i of a captured sequence by products with fixed
// matrices and by scalar functions is computed for the whole sequence before, as one product: the
// body takes its element. Must run after fold_constants.
#include <algorithm>
#include <unordered_map>

#include "ops/generate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

bool has_effects_or_chance(const Node& node) {
  return node.is<Random>() || node.is<Bernoulli>() || node.is<Multinomial>() || node.is<Plugin>() ||
         node.has_side_effects() || node.outputs().empty();
}

/// The first operand that the body gets unchanged in each iteration.
int first_capture(const Node& node) {
  if (const auto* loop = node.as<Loop>()) return static_cast<int>(2 + loop->carried);
  const auto* scan = node.as<Scan>();
  return scan == nullptr ? -1 : static_cast<int>(scan->states + scan->scanned);
}

class Hoister {
 public:
  Hoister(Graph& graph, Node& node) : graph_(graph), node_(node), body_(*node.bodies[0]) {
    const auto first = static_cast<size_t>(first_capture(node));
    for (size_t i = first; i < body_.inputs().size(); ++i)
      outside_[body_.inputs()[i]] = node.inputs()[i];
  }

  bool run() {
    std::vector<Node*> nodes;
    for (const auto& node : body_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) {
      if (node->is<Constant>() || has_effects_or_chance(*node)) continue;
      if (is_invariant(*node)) {
        hoist(*node);
      } else if (node_.is<Loop>()) {
        note_sequence(*node);
      }
    }
    const bool invariants = replace_invariants(), sequences = replace_sequences();
    if (!invariants && !sequences) return false;
    body_.remove_dead();
    return body_.sort().ok();
  }

 private:
  /// The value outside that is the body's in each iteration, or null.
  Value* invariant(const Value* value) {
    const auto found = outside_.find(value);
    if (found != outside_.end()) return found->second;
    if (value->constant() == nullptr) return nullptr;
    Value* copy = graph_.add_constant(*value->constant());
    copy->type = value->type;
    return outside_[value] = copy;
  }

  bool is_invariant(const Node& node) const {
    bool any = false;
    for (const Value* input : node.inputs()) {
      if (input == nullptr) continue;
      if (outside_.contains(input) && input->constant() == nullptr) any = true;
      if (!outside_.contains(input) && input->constant() == nullptr) return false;
    }
    return any;
  }

  void hoist(Node& node) {
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs())
      inputs.push_back(input == nullptr ? nullptr : invariant(input));
    Node* copy = graph_.add_node(node.op->clone(), std::move(inputs),
                                 static_cast<int>(node.outputs().size()), node.name);
    copy->origins = node.origins;
    for (const auto& body : node.bodies) copy->bodies.push_back(body->clone());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      copy->outputs()[i]->name = node.outputs()[i]->name;
      copy->outputs()[i]->type = node.outputs()[i]->type;
      copy->outputs()[i]->elements = node.outputs()[i]->elements;
      outside_[node.outputs()[i]] = copy->outputs()[i];
      hoisted_.push_back(node.outputs()[i]);
    }
  }

  bool is_used(const Value* value) const {
    if (body_.is_output(value)) return true;
    return std::any_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
      const auto& outputs = use.node->outputs();
      return outputs.empty() ||
             (!outside_.contains(outputs[0]) && !sequences_.contains(outputs[0]));
    });
  }

  /// A new captured value in the body.
  Value* capture(Value* outside) {
    node_.append_input(outside);
    return body_.add_input(outside->name, outside->type);
  }

  bool replace_invariants() {
    bool any = false;
    for (Value* value : hoisted_) {
      if (!is_used(value)) continue;
      body_.replace_uses(value, capture(outside_.at(value)));
      any = true;
    }
    return any;
  }

  /// x[i] for a captured x and the number of the iteration i.
  Value* sequence_of_gather(const Node& node) {
    const auto* gather = node.as<Gather>();
    if (gather == nullptr || gather->axis != 0 || node.input(1) != body_.inputs()[0])
      return nullptr;
    const auto found = outside_.find(node.input(0));
    return found == outside_.end() ? nullptr : found->second;
  }

  /// Keeps in `sequences_` what is f(x)[i] for a captured x.
  void note_sequence(Node& node) {
    if (node.outputs().size() != 1) return;
    if (Value* whole = sequence_of_gather(node)) {
      sequences_[node.output()] = {whole, false};
      return;
    }
    const bool product = is_product_of_sequence(node);
    if (!product && !is_pointwise_of_sequence(node)) return;
    std::vector<Value*> inputs;
    bool worth_it = product;
    for (const Value* input : node.inputs()) {
      const auto found = sequences_.find(input);
      if (found != sequences_.end()) worth_it |= found->second.has_product;
      inputs.push_back(found != sequences_.end() ? found->second.whole : invariant(input));
    }
    Value* whole = add_op(graph_, node.op->clone(), std::move(inputs), node);
    sequences_[node.output()] = {whole, worth_it};
    if (worth_it) computed_.push_back(node.output());
  }

  bool is_product_of_sequence(const Node& node) {
    const auto* matmul = node.as<MatMul>();
    return matmul != nullptr && !matmul->transpose_a && sequences_.contains(node.input(0)) &&
           node.input(1)->type.shape.size() == 2 && invariant(node.input(1)) != nullptr;
  }

  /// Each operand is of a sequence, with the result's rank, or fixed, with at most that rank.
  bool is_pointwise_of_sequence(const Node& node) {
    if (!node.is<Pointwise>() && !node.is<Cast>()) return false;
    const size_t rank = node.output()->type.shape.size();
    bool any = false;
    for (const Value* input : node.inputs()) {
      const bool sequence = sequences_.contains(input);
      any |= sequence;
      if (sequence ? input->type.shape.size() != rank
                   : input->type.shape.size() > rank || invariant(input) == nullptr)
        return false;
    }
    return any;
  }

  bool replace_sequences() {
    bool any = false;
    for (Value* value : computed_) {
      if (!is_used(value)) continue;
      Node* like = value->producer();
      Value* element = add_op(body_, std::make_unique<Gather>(),
                              {capture(sequences_.at(value).whole), body_.inputs()[0]}, *like);
      body_.replace_uses(value, element);
      any = true;
    }
    return any;
  }

  struct Sequence {
    Value* whole = nullptr;
    bool has_product = false;
  };
  Graph& graph_;
  Node& node_;
  Graph& body_;
  std::unordered_map<const Value*, Value*> outside_;
  std::unordered_map<const Value*, Sequence> sequences_;
  std::vector<Value*> hoisted_, computed_;
};

}  // namespace

bool hoist_invariants(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    if (first_capture(*node) < 0 || node->bodies.size() != 1 || !context.allows(*node)) continue;
    if (!Hoister(graph, *node).run()) continue;
    context.applied(node->name + " computes less in each iteration");
    changed = true;
  }
  // What was tried in vain.
  if (!changed) graph.remove_dead();
  return changed;
}

}  // namespace tenon
