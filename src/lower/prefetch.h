#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lower/step_list.h"

namespace tenon {

/// The packed weights that one step reads, and how much it can fetch for others meanwhile.
struct PrefetchStep {
  std::span<const std::byte> packed;
  size_t capacity = 0;
};

/// Weights come from memory only as fast as memory is; steps that compute much from few weights
/// leave it idle. This shares the coming weights out among the steps before them: for each step a
/// stretch to prefetch into the caches, in the order of use, and never so much that it would have
/// been evicted before its turn from a cache of `cache_bytes` (0: not known).
std::vector<StepFetch> plan_prefetches(std::span<const PrefetchStep> steps, size_t cache_bytes);

}  // namespace tenon
