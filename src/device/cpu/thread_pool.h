#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/function_ref.h"

namespace tenon::cpu {

/// A fixed set of helper threads beside the caller's, which works too. Every thread begins with its
/// own part of a loop, the same one each time, and then takes chunks from the others: when a core
/// is busy with something else the loop is still never slower than on one thread. A pool belongs to
/// one execution context: parallel_for is not reentrant and not to be called from two threads at a
/// time.
class ThreadPool {
 public:
  /// `threads` counts the caller's; 1 makes a pool without helpers.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls body(begin, end, worker) for disjoint chunks that cover [0, count); `grain` is the
  /// smallest chunk worth handing out and `worker` < threads() names the thread, for scratch
  /// memory. Returns when all chunks are done.
  void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t, int)> body);

  /// Calls body(index) or body(index, worker) for each index of these chunks, in order.
  template <class Body> void for_each(int64_t count, int64_t grain, Body body) {
    // A copy of the body has its captures one step away, not two.
    parallel_for(count, grain, [body](int64_t begin, int64_t end, int worker) {
      for (int64_t index = begin; index < end; ++index) {
        if constexpr (std::is_invocable_v<const Body&, int64_t, int>)
          body(index, worker);
        else
          body(index);
      }
    });
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::cpu
