#include "plan/memory_planner.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"

namespace tenon {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Lowest offset at which buffer `index` fits between the placed ones that live with it.
size_t lowest_fit(const std::vector<Lifetime>& lifetimes, int index,
                  std::vector<std::pair<size_t, size_t>>& taken) {
  std::sort(taken.begin(), taken.end());
  size_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin >= offset && begin - offset >= round_up(lifetimes[index].bytes, kBufferAlignment))
      break;
    offset = std::max(offset, end);
  }
  return offset;
}

MemoryPlan place(const std::vector<Lifetime>& lifetimes, const std::vector<int>& order) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<int> placed;
  for (const int index : order) {
    std::vector<std::pair<size_t, size_t>> taken;
    for (const int other : placed)
      if (overlap(lifetimes[index], lifetimes[other]))
        taken.emplace_back(
            plan.offsets[other],
            plan.offsets[other] + round_up(lifetimes[other].bytes, kBufferAlignment));
    plan.offsets[index] = lowest_fit(lifetimes, index, taken);
    plan.bytes = std::max(plan.bytes,
                          plan.offsets[index] + round_up(lifetimes[index].bytes, kBufferAlignment));
    placed.push_back(index);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<int> in_order(lifetimes.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  MemoryPlan best = place(lifetimes, in_order);
  const auto try_largest_first = [&](auto size_of) {
    std::vector<int> order = in_order;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return size_of(lifetimes[a]) > size_of(lifetimes[b]); });
    MemoryPlan plan = place(lifetimes, order);
    if (plan.bytes < best.bytes) best = std::move(plan);
  };
  try_largest_first([](const Lifetime& buffer) { return buffer.bytes; });
  try_largest_first([](const Lifetime& buffer) {  // Bytes times steps.
    return buffer.bytes * static_cast<size_t>(buffer.last - buffer.first + 1);
  });
  return best;
}

size_t liveness_lower_bound(const std::vector<Lifetime>& lifetimes) {
  size_t most = 0;
  for (const Lifetime& at : lifetimes) {
    size_t live = 0;
    for (const Lifetime& other : lifetimes)
      if (other.first <= at.first && at.first <= other.last)
        live += round_up(other.bytes, kBufferAlignment);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace tenon
