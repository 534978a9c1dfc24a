// Nodes that compute the same from the same values become one, so that patterns meet shared values
// (exporters write x - mean twice) and nothing is computed twice. Must run before the patterns.
#include <xxhash.h>

#include <map>
#include <string>
#include <vector>

#include "ir/attribute_text.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Hashing larger constants costs more than two copies of them.
constexpr int64_t kMaxConstant = 1 << 16;

bool may_merge(const Node& node) {
  if (node.is<Constant>()) return node.as<Constant>()->value.count() <= kMaxConstant;
  return node.bodies.empty() && !node.outputs().empty() && !node.has_side_effects() &&
         !node.is<Random>() && !node.is<Bernoulli>() && !node.is<Multinomial>() &&
         !node.is<Plugin>();
}

/// Equal for nodes that compute the same, and for few others: attributes but constants are left
/// out, whose texts take long. Operands by their numbers.
std::string key_of(const Node& node, std::map<const Value*, size_t>& numbers) {
  std::string key = fmt::format("{}/{}", node.op->name(), node.outputs().size());
  if (const Tensor* value = node.op->constant_value(); value != nullptr && value->defined())
    key +=
        fmt::format(";{}", XXH3_64bits(value->bytes(), static_cast<size_t>(value->byte_count())));
  for (const Value* input : node.inputs())
    key += fmt::format(
        ",{}", input == nullptr ? 0 : numbers.try_emplace(input, numbers.size() + 1).first->second);
  return key;
}

/// The first of nodes with one key that has the same attributes; `node` itself if there is none.
Node& first_equal(std::vector<Node*>& candidates, Node& node) {
  if (!candidates.empty()) {
    const auto texts = attribute_texts(*node.op);
    for (Node* other : candidates)
      if (attribute_texts(*other->op) == texts) return *other;
  }
  candidates.push_back(&node);
  return node;
}

}  // namespace

bool merge_equal(Graph& graph, PassContext& context) {
  bool changed = false;
  std::map<std::string, std::vector<Node*>> candidates;
  std::map<const Value*, size_t> numbers;
  for (Node* node : nodes_of(graph)) {
    if (!may_merge(*node) || !context.allows(*node)) continue;
    Node& kept = first_equal(candidates[key_of(*node, numbers)], *node);
    if (&kept == node) continue;
    bool any = false;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value *old = node->outputs()[i], *same = kept.outputs()[i];
      if (graph.is_output(old) || old->uses().empty() || old->type != same->type) continue;
      graph.replace_uses(old, same);
      any = true;
    }
    if (any) add_origins(kept, *node);
    changed |= any;
  }
  return changed;
}

}  // namespace tenon
