#include "plan/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace tenon {
namespace {

size_t round_up(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Lowest offset at which buffer `index` fits between the placed ones that live with it.
size_t lowest_fit(const std::vector<Lifetime>& lifetimes, int index,
                  std::vector<std::pair<size_t, size_t>>& taken) {
  std::sort(taken.begin(), taken.end());
  size_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin >= offset && begin - offset >= round_up(lifetimes[index].bytes)) break;
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
        taken.emplace_back(plan.offsets[other],
                           plan.offsets[other] + round_up(lifetimes[other].bytes));
    plan.offsets[index] = lowest_fit(lifetimes, index, taken);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + round_up(lifetimes[index].bytes));
    placed.push_back(index);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto by_size = [&](int a, int b) { return lifetimes[a].bytes > lifetimes[b].bytes; };
  const auto by_area = [&](int a, int b) {
    auto area = [&](int i) {
      return lifetimes[i].bytes * static_cast<size_t>(lifetimes[i].last - lifetimes[i].first + 1);
    };
    return area(a) > area(b);
  };
  MemoryPlan best = place(lifetimes, order);  // In order of first use.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::iota(order.begin(), order.end(), 0);
    if (attempt == 0)
      std::stable_sort(order.begin(), order.end(), by_size);
    else
      std::stable_sort(order.begin(), order.end(), by_area);
    MemoryPlan plan = place(lifetimes, order);
    if (plan.bytes < best.bytes) best = std::move(plan);
  }
  return best;
}

size_t liveness_lower_bound(const std::vector<Lifetime>& lifetimes) {
  size_t most = 0;
  for (const Lifetime& at : lifetimes) {
    size_t live = 0;
    for (const Lifetime& other : lifetimes)
      if (other.first <= at.first && at.first <= other.last) live += round_up(other.bytes);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace tenon
