#include "plan/transplant.h"

#include <unordered_map>

namespace tenon {
namespace {

using Partners = std::unordered_map<const Value*, const Value*>;

void pair_up(const std::vector<Value*>& a, const std::vector<Value*>& b, Partners& partners) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) partners[a[i]] = b[i];
}

bool same_values(const std::vector<Value*>& a, const std::vector<Value*>& b,
                 const Partners& partners) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == nullptr && b[i] == nullptr) continue;
    const auto found = partners.find(a[i]);
    if (found == partners.end() || found->second != b[i] || !(a[i]->type == b[i]->type))
      return false;
  }
  return true;
}

Status compare(const Graph& a, const Graph& b) {
  const auto differs = [](const Node& node) {
    return unsupported("with these weights layer '{}' is optimized in another way than in the plan",
                       node.name);
  };
  if (a.nodes().size() != b.nodes().size())
    return unsupported("with these weights the network is optimized to {} nodes instead of {}",
                       b.nodes().size(), a.nodes().size());
  Partners partners;
  pair_up(a.inputs(), b.inputs(), partners);
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &mine = *a.nodes()[i], &other = *b.nodes()[i];
    pair_up(mine.outputs(), other.outputs(), partners);
    if (mine.kind() != other.kind() || mine.bodies.size() != other.bodies.size() ||
        !same_values(mine.inputs(), other.inputs(), partners) ||
        !same_values(mine.outputs(), other.outputs(), partners))
      return differs(mine);
    for (size_t body = 0; body < mine.bodies.size(); ++body)
      if (!compare(*mine.bodies[body], *other.bodies[body]).ok()) return differs(mine);
  }
  if (!same_values(a.inputs(), b.inputs(), partners) ||
      !same_values(a.outputs(), b.outputs(), partners))
    return unsupported("with these weights the network has other inputs or outputs");
  return {};
}

void move_operators(Graph& to, Graph& from) {
  for (size_t i = 0; i < to.nodes().size(); ++i) {
    Node &mine = *to.nodes()[i], &other = *from.nodes()[i];
    mine.op = std::move(other.op);
    mine.tactic = std::move(other.tactic);
    mine.packed = std::move(other.packed);
    for (size_t body = 0; body < mine.bodies.size(); ++body)
      move_operators(*mine.bodies[body], *other.bodies[body]);
  }
}

}  // namespace

Status transplant(Plan& to, Plan& from) {
  TENON_TRY(compare(*to.graph, *from.graph));
  if (to.forms.size() != from.forms.size())
    return unsupported("with these weights the network has {} other forms instead of {}",
                       from.forms.size(), to.forms.size());
  for (size_t i = 0; i < to.forms.size(); ++i) TENON_TRY(compare(*to.forms[i], *from.forms[i]));
  move_operators(*to.graph, *from.graph);
  for (size_t i = 0; i < to.forms.size(); ++i) move_operators(*to.forms[i], *from.forms[i]);
  return {};
}

}  // namespace tenon
