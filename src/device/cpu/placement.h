#pragma once

#include <sched.h>

#include <span>
#include <thread>

namespace tenon::cpu {

/// Keeps the helpers of a pool off the processor of its caller. Schedulers that wake a thread where
/// its waker runs leave the two on one processor for many milliseconds, while others are idle.
class Placement {
 public:
  /// The threads that are made later inherit the processors that the maker may use.
  explicit Placement(int threads);

  /// For the caller, before a loop: cheap while it stays where it was.
  void follow_caller(std::span<std::thread> helpers) {
    if (usable_ && sched_getcpu() != caller_) move_helpers(helpers);
  }

 private:
  void move_helpers(std::span<std::thread> helpers);

  cpu_set_t allowed_;
  bool usable_ = false;  ///< A processor for each thread.
  int caller_ = -1;      ///< The processor that helpers are kept off.
};

}  // namespace tenon::cpu
