#pragma once

#include <cstddef>
#include <vector>

namespace tenon {

/// A buffer that is live from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< One a lifetime, multiples of kBufferAlignment.
  size_t bytes = 0;             ///< Size of the arena.
};

inline constexpr size_t kBufferAlignment = 256;

/// Places buffers in one arena so that those live at the same time do not overlap: each at the
/// lowest offset that is free during its life, in three orders (as given, largest first, largest
/// bytes times steps first), of which the smallest arena stays. Deterministic; the square of the
/// number of buffers.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

/// Most bytes live at any one step: no plan is smaller.
size_t liveness_lower_bound(const std::vector<Lifetime>& lifetimes);

}  // namespace tenon
