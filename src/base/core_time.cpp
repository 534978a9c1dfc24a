#include "base/core_time.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <system_error>

#include "base/parallel.h"

namespace tenon {
namespace {

/// A thread that ran for less is taken to be undisturbed, mostly.
constexpr double kPrior = 5e-3;
/// Of the thread's own time, so many seconds are remembered, and looked at again after so many.
constexpr double kMemory = 1, kLook = 5e-3;
/// Below the clocks' steps.
constexpr double kLeast = 1e-6;

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

CoreTime::CoreTime() : thread_(gettid()), last_(now()) {}

CoreTime::Seconds CoreTime::now() const {
  const std::string path = fmt::format("/proc/self/task/{}/schedstat", thread_);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (file == nullptr) return {};
  // "RAN WAITED SLICES", in nanoseconds.
  char text[64];
  const char* const end = text + std::fread(text, 1, sizeof(text), file.get());
  uint64_t ran = 0, waited = 0;
  const auto [gap, first] = std::from_chars(text, end, ran);
  if (first != std::errc() || gap == end) return {};
  if (std::from_chars(gap + 1, end, waited).ec != std::errc()) return {};
  return {1e-9 * static_cast<double>(ran), 1e-9 * static_cast<double>(waited),
          seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

/// A thread that waits for others of its process, which have all cores, is not disturbed: moment by
/// moment, since the process may need one core before and behind that.
double CoreTime::stretch() {
  const Seconds seconds = now();
  const double ran = seconds.ran - last_.ran, waited = seconds.waited - last_.waited;
  if (ran + waited >= kLook) {
    const double all = static_cast<double>(helper_threads()) * (seconds.real - last_.real);
    const double of_others = all / std::max(seconds.process - last_.process, ran + kLeast) - 1;
    const double kept = std::exp(-(ran + waited) / kMemory);
    ran_ = kept * ran_ + ran;
    lost_ = kept * lost_ + std::clamp(ran * of_others, 0.0, waited);
    last_ = seconds;
  }
  return 1 + lost_ / (ran_ + kPrior);
}

}  // namespace tenon
