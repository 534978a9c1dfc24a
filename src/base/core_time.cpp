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

/// A thread that waits for others of its process, which have all cores, is not disturbed.
double CoreTime::stretch() {
  const Seconds seconds = now();
  const double ran = seconds.ran - last_.ran, waited = seconds.waited - last_.waited;
  if (ran + waited >= kLook) {
    const double kept = std::exp(-(ran + waited) / kMemory);
    lately_ = {kept * lately_.ran + ran, kept * lately_.waited + waited,
               kept * lately_.real + seconds.real - last_.real,
               kept * lately_.process + seconds.process - last_.process};
    last_ = seconds;
  }
  const double all = 1 + lately_.waited / (lately_.ran + kPrior);
  const double of_others =
      static_cast<double>(helper_threads()) * lately_.real / std::max(lately_.process, kPrior);
  return std::max(std::min(all, of_others), 1.0);
}

}  // namespace tenon
