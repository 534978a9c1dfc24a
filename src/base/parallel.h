#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace tenon {

/// Calls f(0) to f(count - 1) on up to `threads` threads, the caller's among them, in any order. For
/// long and few calls, such as compilations: threads are started for it.
inline void for_each_parallel(size_t count, size_t threads, FunctionRef<void(size_t)> f) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) f(i);
  };
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < threads && i < count; ++i) helpers.emplace_back(work);
  work();
}

/// Threads for work that the processor does beside others'.
inline size_t helper_threads() {
  const unsigned all = std::thread::hardware_concurrency();
  return all == 0 ? 1 : (all > 32 ? 32 : all);
}

}  // namespace tenon
