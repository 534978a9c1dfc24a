#pragma once

#include <chrono>
#include <ctime>

namespace tenon {

/// Seconds since it was made, or since the lap before.
class Stopwatch {
 public:
  double lap() {
    const auto now = Clock::now();
    const std::chrono::duration<double> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// The same of seconds that the calling thread was on a core.
class CoreStopwatch {
 public:
  double lap() {
    const double now = thread_seconds(), passed = now - start_;
    start_ = now;
    return passed;
  }

 private:
  static double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = thread_seconds();
};

}  // namespace tenon
