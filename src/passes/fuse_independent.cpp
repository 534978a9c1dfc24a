// Pointwise operators of one shape that do not depend on each other become one region with several
// results: one step in place of several. Where they are large, only those that read a value in
// common, which is then read once; larger ones that share nothing would only drive each other's
// results out of the caches. So do gathers, of embedding tables for instance, where the device has
// a kernel for several. Must run after fuse_pointwise.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr size_t kMaxNodes = 24;
constexpr size_t kMaxOperands = 12;
constexpr int kMaxMembers = 4;
/// Gathers that one step takes, and the elements up to which they are worth it.
constexpr int kMaxGathers = 32;
constexpr int64_t kSmallGather = int64_t{1} << 20;
/// Steps of at most so many elements cost about as much as starting them.
constexpr int64_t kSmall = 8192;
/// Candidates of the same shape that are looked at behind each.
constexpr int kWindow = 12, kGatherWindow = 64;

bool is_pointwise(const Node& node) {
  return node.is<Pointwise>() || node.is<Cast>();
}

bool is_candidate(const Node& node, const PassOptions& options) {
  if (node.is<Gather>()) return options.gather_regions;
  if (is_pointwise(node)) return true;
  return node.is<Fused>() && node.outputs().size() == 1 &&
         std::all_of(node.bodies[0]->nodes().begin(), node.bodies[0]->nodes().end(),
                     [](const auto& inner) { return is_pointwise(*inner); });
}

size_t node_count(const Node& node) {
  return node.is<Fused>() ? node.bodies[0]->nodes().size() : 1;
}

/// Of at most `most` elements.
bool is_small(const Shape& shape, int64_t most) {
  int64_t count = 1;
  for (const Dim& dim : shape) {
    if (!dim.is_constant()) return false;
    count *= std::max<int64_t>(1, dim.constant());
    if (count > most) return false;
  }
  return true;
}

using Places = std::unordered_map<const Node*, size_t>;

Places places_of(const Graph& graph) {
  Places places;
  for (const auto& node : graph.nodes()) places.emplace(node.get(), places.size());
  return places;
}

/// Both read an operand of the results' shape, and the second's other operands are computed before
/// the first.
bool share_operand(const Node& first, const Node& second, const Places& places) {
  const auto& operands = first.inputs();
  bool shared = false;
  for (const Value* value : second.inputs()) {
    const bool here = std::find(operands.begin(), operands.end(), value) != operands.end();
    shared |= here && value->type.shape == first.output()->type.shape;
    if (!here && value->producer() != nullptr && places.at(value->producer()) > places.at(&first))
      return false;
  }
  return shared;
}

/// Nodes that become one region, of all regions that are made at once.
struct Taken {
  std::unordered_set<const Node*> nodes;
  /// The last of their places.
  size_t last = 0;
};

/// Whether `to` is computed from `from`, perhaps by way of a region that is about to be made: its
/// results depend on the operands of all its members, in whatever order these stand.
bool depends(const Node& from, const Node& to, const Places& places, const Taken& taken) {
  const size_t last = std::max(places.at(&to), taken.last);
  std::vector<const Node*> open = {&from};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Value* output : node->outputs())
      for (const Use& use : output->uses()) {
        if (use.node == &to || taken.nodes.contains(use.node)) return true;
        if (places.at(use.node) < last && seen.insert(use.node).second) open.push_back(use.node);
      }
  }
  return false;
}

/// Some extent is known only when a node has run. Its users depend on that node without an edge of
/// the graph, so two nodes that look independent may not be.
bool finds_extents_while_running(const Graph& graph) {
  std::unordered_set<std::string> given;
  for (const Value* input : graph.inputs())
    for (const Dim& dim : input->type.shape)
      for (const std::string& name : dim.symbols()) given.insert(name);
  for (const auto& node : graph.nodes())
    for (const Value* output : node->outputs())
      for (const Dim& dim : output->type.shape)
        for (const std::string& name : dim.symbols())
          if (!given.contains(name)) return true;
  return false;
}

/// Nodes that become one region, in order.
class Siblings {
 public:
  explicit Siblings(Node* first) { add(first); }

  bool take(Node* node, const Places& places, const Taken& taken) {
    if (members_[0]->output()->type.shape != node->output()->type.shape) return false;
    const bool gathers = members_[0]->is<Gather>();
    if (gathers != node->is<Gather>()) return false;
    if (!(gathers ? takes_gather(*node) : takes_pointwise(*node, places))) return false;
    if (std::any_of(members_.begin(), members_.end(), [&](const Node* member) {
          return depends(*member, *node, places, taken) || depends(*node, *member, places, taken);
        }))
      return false;
    add(node);
    return true;
  }

  const std::vector<Node*>& members() const { return members_; }

 private:
  bool takes_pointwise(const Node& node, const Places& places) const {
    const Shape& shape = node.output()->type.shape;
    if (static_cast<int>(members_.size()) == kMaxMembers) return false;
    if (nodes_ + node_count(node) > kMaxNodes || operands_with(node) > kMaxOperands) return false;
    // Images of one shape may lie in different orders.
    return (shape.size() < 4 && is_small(shape, kSmall)) ||
           share_operand(*members_[0], node, places);
  }

  bool takes_gather(const Node& node) const {
    const TensorType& type = node.output()->type;
    return static_cast<int>(members_.size()) < kMaxGathers && is_small(type.shape, kSmallGather) &&
           byte_size(type.type) == byte_size(members_[0]->output()->type.type);
  }

  size_t operands_with(const Node& node) const {
    size_t count = operands_.size();
    for (const Value* value : node.inputs()) count += operands_.contains(value) ? 0 : 1;
    return count;
  }

  void add(Node* node) {
    members_.push_back(node);
    nodes_ += node_count(*node);
    operands_.insert(node->inputs().begin(), node->inputs().end());
  }

  std::vector<Node*> members_;
  std::unordered_set<const Value*> operands_;
  size_t nodes_ = 0;
};

/// The operators of the members, regions taken apart.
std::vector<Node*> flattened(Graph& graph, const std::vector<Node*>& members) {
  std::vector<Node*> nodes;
  for (Node* member : members) {
    if (!member->is<Fused>()) {
      nodes.push_back(member);
      continue;
    }
    const size_t count = node_count(*member);
    inline_region(graph, member);
    for (size_t i = graph.nodes().size() - count; i < graph.nodes().size(); ++i)
      nodes.push_back(graph.nodes()[i].get());
  }
  return nodes;
}

std::string name_of_all(const std::vector<Node*>& nodes) {
  const bool gathers = nodes[0]->is<Gather>();
  std::string list;
  for (const Node* node : nodes) list += (list.empty() ? "" : gathers ? " | " : ", ") + node->name;
  return gathers ? list : "fusedPointwiseNode(" + list + ")";
}

/// The first candidate's siblings among those behind it.
Siblings siblings_of(const std::vector<Node*>& candidates, size_t first, const Places& places,
                     const Taken& taken) {
  Siblings siblings(candidates[first]);
  int looked_at = 0;
  const int window = candidates[first]->is<Gather>() ? kGatherWindow : kWindow;
  for (size_t i = first + 1; i < candidates.size() && looked_at < window; ++i) {
    if (candidates[i]->output()->type.shape != candidates[first]->output()->type.shape) continue;
    if (taken.nodes.contains(candidates[i])) continue;
    ++looked_at;
    siblings.take(candidates[i], places, taken);
  }
  return siblings;
}

/// Regions that can be made at once.
std::vector<std::vector<Node*>> regions_of(const std::vector<Node*>& candidates,
                                           const Places& places) {
  std::vector<std::vector<Node*>> regions;
  Taken taken;
  for (size_t first = 0; first < candidates.size(); ++first) {
    if (taken.nodes.contains(candidates[first])) continue;
    const Siblings siblings = siblings_of(candidates, first, places, taken);
    if (siblings.members().size() == 1) continue;
    for (const Node* member : siblings.members()) {
      taken.nodes.insert(member);
      taken.last = std::max(taken.last, places.at(member));
    }
    regions.push_back(siblings.members());
  }
  return regions;
}

}  // namespace

bool fuse_independent(Graph& graph, PassContext& context) {
  if (finds_extents_while_running(graph)) return false;
  std::vector<Node*> candidates = nodes_of(graph, [&](const Node& node) {
    return is_candidate(node, context.options()) && context.allows_fusion(node);
  });
  for (bool changed = false;; changed = true) {
    // A region depends on all that its members did, which may have changed the order.
    const Places places = places_of(graph);
    std::sort(candidates.begin(), candidates.end(),
              [&](const Node* a, const Node* b) { return places.at(a) < places.at(b); });
    const std::vector<std::vector<Node*>> regions = regions_of(candidates, places);
    if (regions.empty()) return changed;
    std::unordered_set<const Node*> taken;
    for (const std::vector<Node*>& members : regions) taken.insert(members.begin(), members.end());
    std::erase_if(candidates, [&](const Node* node) { return taken.contains(node); });
    for (const std::vector<Node*>& members : regions) {
      const std::vector<Node*> nodes = flattened(graph, members);
      context.applied(make_region(graph, nodes, name_of_all(nodes))->name);
    }
    if (!graph.sort().ok()) return true;
  }
}

}  // namespace tenon
