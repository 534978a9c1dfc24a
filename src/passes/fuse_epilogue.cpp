// Anchors (convolution, matmul, ...) take the chain of pointwise operators behind them into one
// region: bias, residual, activation. A pointwise node joins when it is the only user of the
// running value and keeps its shape; where several use the value, they join together as far as they
// meet again (x + f(x)). Other operands come from outside. Must run after the
// patterns that make pointwise functions out of groups (GELU, SiLU), and before fuse_pointwise.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/epilogue_rule.h"
#include "passes/match.h"

namespace tenon {
namespace {

/// Of a region, its anchor among them. Longer chains gain nothing: the value stays in registers all
/// the same, but registers run out.
constexpr size_t kMaxSteps = 8;

/// The chain behind an anchor. Its running value is the result of the last step that was taken.
class Chain {
 public:
  /// `order` are places in the graph before anything was joined.
  Chain(const Graph& graph, Node* anchor, const PassContext& context,
        const std::unordered_map<const Node*, size_t>& order)
      : graph_(graph), context_(context), order_(order), members_{anchor} {}

  /// Takes in the steps that may follow.
  void grow() {
    for (std::vector<Node*> next = next_steps(); !next.empty(); next = next_steps())
      members_.insert(members_.end(), next.begin(), next.end());
  }
  std::vector<Node*> members() const { return members_; }
  const Value* running() const { return members_.back()->output(); }

 private:
  /// The fewest steps behind the running value whose last result is all that is left: one, or,
  /// where several read the value, those that meet again. Empty where there are none.
  std::vector<Node*> next_steps() const {
    std::vector<Node*> steps;
    while (members_.size() + steps.size() <= kMaxSteps) {
      Node* next = first_reader(steps);
      if (next == nullptr || !may_join(*next)) return {};
      steps.push_back(next);
      if (is_used_up(running(), steps) &&
          std::all_of(steps.begin(), steps.end() - 1,
                      [&](const Node* step) { return is_used_up(step->output(), steps); }))
        return steps;
    }
    return {};
  }

  /// The first node of the graph that reads the running value or a result of `steps`, among the
  /// nodes in no region yet and not among the steps; null where there is none.
  Node* first_reader(const std::vector<Node*>& steps) const {
    Node* first = nullptr;
    size_t place = SIZE_MAX;
    const auto look = [&](const Value* value) {
      for (const Use& use : value->uses()) {
        const auto found = order_.find(use.node);
        if (found == order_.end() || found->second >= place ||
            std::count(steps.begin(), steps.end(), use.node) > 0)
          continue;
        first = use.node;
        place = found->second;
      }
    };
    look(running());
    for (const Node* step : steps) look(step->output());
    return first;
  }

  /// Nothing but the steps reads the value.
  bool is_used_up(const Value* value, const std::vector<Node*>& steps) const {
    return !graph_.is_output(value) &&
           std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
             return std::count(steps.begin(), steps.end(), use.node) > 0;
           });
  }

  bool may_join(const Node& next) const {
    return epilogue_refusal(graph_, *members_.front(), *running(), next, context_).empty();
  }

  const Graph& graph_;
  const PassContext& context_;
  const std::unordered_map<const Node*, size_t>& order_;
  std::vector<Node*> members_;
};

}  // namespace

bool fuse_epilogue(Graph& graph, PassContext& context) {
  const std::vector<Node*> anchors = fusible_nodes(graph, context, takes_epilogue);
  std::unordered_map<const Node*, size_t> order;
  for (const auto& node : graph.nodes()) order.emplace(node.get(), order.size());
  // From the back: where two anchors meet in a sum, the later one takes it, when its operand is
  // already there.
  return for_each_from_back(anchors, [&](Node& anchor) {
    Chain chain(graph, &anchor, context, order);
    chain.grow();
    std::vector<Node*> members = chain.members();
    Node* last = anchor.is<MatMul>() ? widening_step(graph, chain.running(), context) : nullptr;
    if (last != nullptr) members.push_back(last);
    return members.size() > 1 && context.applied(make_region(graph, members)->name);
  });
}

}  // namespace tenon
