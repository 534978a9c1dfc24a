#pragma once

#include <algorithm>
#include <chrono>

namespace tenon {

/// A moment after which work that may be left undone is.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(seconds, kLongest)))) {}
  double left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }
  bool passed() const { return left() <= 0; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLongest = 1e6;
  Clock::time_point end_;
};

}  // namespace tenon
