#include "plan/packing.h"

#include <map>

namespace tenon {

std::string packing_of(const Graph& graph, const Backend& backend) {
  std::map<std::string_view, int> versions;  // 0: no such kernel.
  for (const auto& node : graph.nodes()) {
    if (!node->packed.defined()) continue;
    const std::string_view name = split_tactic(node->tactic).name;
    const Tactic* tactic = backend.find(name);
    versions[name] = tactic == nullptr ? 0 : tactic->version;
  }
  std::string text;
  for (const auto& [name, version] : versions)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, version);
  return text;
}

}  // namespace tenon
