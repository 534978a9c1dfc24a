#include "plan/walks.h"

#include <algorithm>
#include <unordered_map>

namespace tenon {
namespace {

constexpr size_t kInputs = 30;  ///< That launches have bits for.

}  // namespace

std::vector<Walk> plan_walks(const ConcreteGraph& graph, std::span<const WalkingStep> steps) {
  if (std::ranges::none_of(steps, &WalkingStep::walks)) return std::vector<Walk>(steps.size());
  const auto root = [&](const Value* value) { return graph.storage(value).root; };
  std::unordered_map<const Value*, size_t> last;  // Of each root that a step computes.
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].node == nullptr) continue;
    for (const Value* input : steps[i].node->inputs())
      if (input != nullptr && last.contains(root(input))) last[root(input)] = i;
    for (const Value* output : steps[i].node->outputs()) last.emplace(root(output), i);
  }
  for (const Value* output : graph.graph().outputs()) last.erase(root(output));
  std::vector<Walk> walks(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].walks || steps[i].node == nullptr) continue;
    walks[i].backwards = i > 0 && !walks[i - 1].backwards;
    const auto& inputs = steps[i].node->inputs();
    for (size_t k = 0; k < std::min(inputs.size(), kInputs); ++k) {
      if (inputs[k] == nullptr) continue;
      const auto found = last.find(root(inputs[k]));
      if (found != last.end() && found->second == i) walks[i].last_reads |= uint32_t{1} << k;
    }
  }
  return walks;
}

}  // namespace tenon
