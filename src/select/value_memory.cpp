#include "select/value_memory.h"

#include <algorithm>

#include "plan/memory_planner.h"

namespace tenon {

Result<ValueMemory> ValueMemory::create(const Backend& backend, const ConcreteGraph& graph,
                                        std::span<Node* const> layers) {
  ValueMemory memory(graph);
  std::map<const Value*, size_t> index;
  std::vector<Lifetime> lifetimes;
  const int end = static_cast<int>(layers.size());
  const auto touch = [&](const Value* value, int step) {
    if (value == nullptr || graph.known(value) != nullptr) return;
    const Value* root = graph.storage(value).root;
    if (graph.known(root) != nullptr) return;
    const auto [entry, is_new] = index.try_emplace(root, lifetimes.size());
    if (!is_new) {
      lifetimes[entry->second].last = step;
      return;
    }
    const int64_t count = element_count(graph.extents(root));
    const auto bytes = static_cast<size_t>(count * byte_size(root->type.type));
    // The application's tensors are there all the time.
    const bool is_input = root->producer() == nullptr;
    lifetimes.push_back({bytes, is_input ? 0 : step, is_input ? end : step});
    if (is_input) memory.inputs_[root] = bytes;
  };
  for (int step = 0; step < end; ++step) {
    for (const Value* value : layers[static_cast<size_t>(step)]->inputs()) touch(value, step);
    for (const Value* value : layers[static_cast<size_t>(step)]->outputs()) touch(value, step);
  }
  for (const auto& [root, bytes] : memory.inputs_) lifetimes[index[root]].last = end;
  const MemoryPlan plan = plan_memory(lifetimes);
  TENON_ASSIGN(memory.arena_, backend.allocate(plan.bytes));
  for (const auto& [root, i] : index) memory.offsets_[root] = plan.offsets[i];
  return memory;
}

void* ValueMemory::address(const Value* value) const {
  const Storage& storage = graph_->storage(value);
  const auto found = offsets_.find(storage.root);
  if (found == offsets_.end()) return nullptr;
  return static_cast<char*>(arena_.get()) + found->second +
         storage.offset * byte_size(value->type.type);
}

}  // namespace tenon
