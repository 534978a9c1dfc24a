#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/backend.h"

namespace tenon {

/// The time of making kernels: how many there were of each origin, and how long threads were at it.
/// Thread-safe.
class WorkLog {
 public:
  /// create_kernel(), counted.
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         std::string_view config);
  /// For people: "434 of our own (61.2 s of threads, 60.9 s of CPU), ...".
  std::string describe() const;

 private:
  struct Counter {
    std::atomic<int64_t> count = 0, nanoseconds = 0, cpu_nanoseconds = 0;
  };
  static constexpr size_t kOrigins = 4;  ///< Of TacticOrigin.
  std::array<Counter, kOrigins> counters_;
};

}  // namespace tenon
