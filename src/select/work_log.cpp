#include "select/work_log.h"

#include <fmt/format.h>

namespace tenon {
namespace {

constexpr const char* kNames[] = {"of our own", "of cuDNN", "of cuBLASLt", "of plugins"};

int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<Kernel>> WorkLog::create(const Tactic& tactic, const Problem& problem,
                                                std::string_view config) {
  Counter& counter = counters_[static_cast<size_t>(tactic.traits.origin)];
  const int64_t start = now(CLOCK_MONOTONIC), cpu_start = now(CLOCK_THREAD_CPUTIME_ID);
  auto kernel = create_kernel(tactic, problem, config);
  ++counter.count;
  counter.nanoseconds += now(CLOCK_MONOTONIC) - start;
  counter.cpu_nanoseconds += now(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
  return kernel;
}

std::string WorkLog::describe() const {
  std::string text;
  for (size_t i = 0; i < kOrigins; ++i) {
    const Counter& counter = counters_[i];
    if (counter.count == 0) continue;
    text += fmt::format("{}{} {} ({:.2f} s of threads, {:.2f} s of CPU)", text.empty() ? "" : ", ",
                        counter.count.load(), kNames[i],
                        static_cast<double>(counter.nanoseconds) * 1e-9,
                        static_cast<double>(counter.cpu_nanoseconds) * 1e-9);
  }
  return text.empty() ? "none" : text;
}

}  // namespace tenon
