// Adjacent pointwise operators become one region, so that intermediate values stay in registers. A
// producer joins its consumer's group when all its uses lie inside it and it has the group's shape.
// Runs after fuse_epilogue.
#include <algorithm>
#include <unordered_set>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr size_t kMaxNodes = 24;
constexpr size_t kMaxOperands = 12;

bool is_pointwise(const Node& node) {
  return node.is<Pointwise>() || node.is<Cast>();
}

class Group {
 public:
  Group(const Graph& graph, Node* root) : graph_(graph), shape_(root->output()->type.shape) {
    add(root);
  }

  /// Takes in producers until none fits any more.
  void grow(const PassContext& context) {
    for (size_t i = 0; i < members_.size(); ++i)  // Grows while it runs.
      for (const Value* operand : members_[i]->inputs())
        if (fits(operand, context)) add(operand->producer());
  }

  /// In topological order: producers were added after their consumers.
  std::vector<Node*> ordered() const {
    return nodes_of(graph_, [&](const Node& node) { return inside_.contains(&node); });
  }
  size_t size() const { return members_.size(); }

 private:
  bool fits(const Value* value, const PassContext& context) const {
    if (value == nullptr || value->producer() == nullptr || graph_.is_output(value)) return false;
    const Node& producer = *value->producer();
    if (inside_.contains(&producer) || !is_pointwise(producer) || !context.allows_fusion(producer))
      return false;
    if (value->type.shape != shape_ || members_.size() >= kMaxNodes) return false;
    if (operands_ + producer.inputs().size() > kMaxOperands) return false;
    return std::all_of(value->uses().begin(), value->uses().end(),
                       [this](const Use& use) { return inside_.contains(use.node); });
  }

  void add(Node* node) {
    members_.push_back(node);
    inside_.insert(node);
    operands_ += node->inputs().size() - (members_.size() > 1 ? 1 : 0);
  }

  const Graph& graph_;
  const Shape& shape_;
  std::vector<Node*> members_;
  std::unordered_set<const Node*> inside_;
  size_t operands_ = 0;
};

/// "fusedPointwiseNode(add1, relu1)"
std::string group_name(const std::vector<Node*>& nodes) {
  std::string list;
  for (const Node* node : nodes) list += (list.empty() ? "" : ", ") + node->name;
  return "fusedPointwiseNode(" + list + ")";
}

}  // namespace

bool fuse_pointwise(Graph& graph, PassContext& context) {
  const std::vector<Node*> roots = nodes_of(
      graph, [&](const Node& node) { return is_pointwise(node) && context.allows_fusion(node); });
  std::unordered_set<const Node*> done;
  bool changed = false;
  for (auto it = roots.rbegin(); it != roots.rend(); ++it) {
    if (done.contains(*it)) continue;
    Group group(graph, *it);
    group.grow(context);
    if (group.size() < 2) continue;
    const std::vector<Node*> members = group.ordered();
    done.insert(members.begin(), members.end());
    context.applied(make_region(graph, members, group_name(members))->name);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
