// Values that a body computes from captured ones alone are the same in each iteration, and are
// computed before the loop. A value that it computes of element i of a captured or scanned sequence
// by products with fixed matrices and by scalar functions is computed for the whole sequence
// before, as one product: the body takes its element. Must run after fold_constants.
#include <algorithm>
#include <unordered_map>

#include "ops/generate.h"
#include "ops/region.h"
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
    note_scanned();
  }

  bool run() {
    for (Node* node : nodes_of(body_)) {
      if (node->is<Constant>() || has_effects_or_chance(*node)) continue;
      if (is_invariant(*node))
        hoist(*node);
      else
        note_sequence(*node);
    }
    const bool invariants = replace_invariants(), sequences = replace_sequences();
    if (!invariants && !sequences) return false;
    body_.remove_dead();
    if (!body_.sort().ok()) return false;
    if (!new_scans_.empty()) put_scans_in_place();
    return true;
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

  /// Whether the body needs the value when all that is worth it is computed outside.
  bool is_used(const Value* value) {
    const auto known = used_.find(value);
    if (known != used_.end()) return known->second;
    bool used = body_.is_output(value);
    for (const Use& use : value->uses()) used = used || stays(*use.node);
    return used_[value] = used;
  }

  bool stays(const Node& node) {
    if (node.outputs().empty()) return true;
    if (outside_.contains(node.output())) return false;
    const auto sequence = sequences_.find(node.output());
    if (sequence == sequences_.end()) return true;
    return !sequence->second.has_product && is_used(node.output());
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

  /// The operands of a scan that are sequences along their first axis.
  void note_scanned() {
    const auto* scan = node_.as<Scan>();
    if (scan == nullptr) return;
    for (size_t i = 0; i < static_cast<size_t>(scan->scanned); ++i) {
      const size_t at = static_cast<size_t>(scan->states) + i;
      if (attribute_at(scan->input_axes, i) != 0) continue;
      sequences_[body_.inputs()[at]] = {node_.inputs()[at], false,
                                        attribute_at(scan->input_directions, i)};
    }
  }

  /// x[i] for a captured x and the number of the iteration i.
  Value* sequence_of_gather(const Node& node) {
    const auto* gather = node_.is<Loop>() ? node.as<Gather>() : nullptr;
    if (gather == nullptr || gather->axis != 0 || node.input(1) != body_.inputs()[0])
      return nullptr;
    const auto found = outside_.find(node.input(0));
    return found == outside_.end() ? nullptr : found->second;
  }

  /// Keeps in `sequences_` the values f(x)[i] for a captured x.
  void note_sequence(Node& node) {
    if (node.outputs().size() != 1) return;
    if (Value* whole = sequence_of_gather(node)) {
      sequences_[node.output()] = {whole};
      return;
    }
    const bool product = is_product_of_sequence(node);
    if (!product && !is_pointwise_of_sequence(node)) return;
    std::vector<Value*> inputs;
    bool worth_it = product;
    int64_t direction = 0;
    for (const Value* input : node.inputs()) {
      const auto found = sequences_.find(input);
      if (found != sequences_.end()) {
        worth_it |= found->second.has_product;
        direction = found->second.direction;
      }
      inputs.push_back(found != sequences_.end() ? found->second.whole : invariant(input));
    }
    Value* whole = add_op(graph_, node.op->clone(), std::move(inputs), node);
    sequences_[node.output()] = {whole, worth_it, direction};
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
    int64_t direction = 0;
    for (const Value* input : node.inputs()) {
      const bool sequence = sequences_.contains(input);
      if (sequence && any && sequences_.at(input).direction != direction) return false;
      if (sequence) direction = sequences_.at(input).direction;
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
      any = true;
      const Sequence& sequence = sequences_.at(value);
      if (node_.is<Scan>()) {
        body_.replace_uses(value, body_.add_input(value->name, value->type));
        node_.append_input(sequence.whole);
        new_scans_.push_back(sequence.direction);
        continue;
      }
      Node* like = value->producer();
      Value* element = add_op(body_, std::make_unique<Gather>(),
                              {capture(sequence.whole), body_.inputs()[0]}, *like);
      body_.replace_uses(value, element);
    }
    return any;
  }

  /// New scanned operands, which were appended, belong behind the others.
  void put_scans_in_place() {
    auto& scan = *node_.as<Scan>();
    const auto first = scan.states + scan.scanned;
    const auto count = static_cast<ptrdiff_t>(new_scans_.size());
    const auto reorder = [&](std::vector<Value*> values) {
      std::rotate(values.begin() + first, values.end() - count, values.end());
      return values;
    };
    const std::vector<Value*> operands = reorder(node_.inputs());
    node_.truncate_inputs(0);
    for (Value* operand : operands) node_.append_input(operand);
    auto body = std::make_unique<Graph>();
    body->name = body_.name;
    body->symbol_ranges = body_.symbol_ranges;
    std::unordered_map<const Value*, Value*> twins;
    for (const Value* input : reorder(body_.inputs()))
      twins[input] = body->add_input(input->name, input->type);
    std::vector<Value*> inputs;
    for (const Value* input : body_.inputs()) inputs.push_back(twins.at(input));
    for (Value* output : inline_body(*body, body_, inputs)) body->add_output(output);
    scan.input_axes.resize(static_cast<size_t>(scan.scanned + count));
    scan.input_directions.resize(static_cast<size_t>(scan.scanned));
    scan.input_directions.insert(scan.input_directions.end(), new_scans_.begin(), new_scans_.end());
    scan.scanned += count;
    node_.bodies[0] = std::move(body);
  }

  struct Sequence {
    Value* whole = nullptr;
    bool has_product = false;
    int64_t direction = 0;  ///< Of the scan; 1 is backward.
  };
  Graph& graph_;
  Node& node_;
  Graph& body_;
  std::unordered_map<const Value*, Value*> outside_;
  std::unordered_map<const Value*, Sequence> sequences_;
  std::unordered_map<const Value*, bool> used_;
  std::vector<Value*> hoisted_, computed_;
  std::vector<int64_t> new_scans_;  ///< Their directions.
};

}  // namespace

bool hoist_invariants(Graph& graph, PassContext& context) {
  const bool changed = for_each_allowed(graph, context, [&](Node& node) {
    return first_capture(node) >= 0 && node.bodies.size() == 1 && Hoister(graph, node).run() &&
           context.applied(node.name + " computes less in each iteration");
  });
  // Attempts that failed.
  if (!changed) graph.remove_dead();
  return changed;
}

}  // namespace tenon
