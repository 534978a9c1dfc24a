#include "select/work_log.h"

#include <fmt/format.h>

#include <cmath>

#include "base/stopwatch.h"

namespace tenon {
namespace {

constexpr const char* kNames[] = {"of our own", "of cuDNN", "of cuBLASLt", "of plugins"};

int64_t nanoseconds(double seconds) {
  return std::llround(1e9 * seconds);
}

}  // namespace

Result<std::unique_ptr<Kernel>> WorkLog::create(const Tactic& tactic, const Problem& problem,
                                                std::string_view config) {
  Counter& counter = counters_[static_cast<size_t>(tactic.traits.origin)];
  Stopwatch watch;
  CoreStopwatch core_watch;
  auto kernel = create_kernel(tactic, problem, config);
  ++counter.count;
  counter.nanoseconds += nanoseconds(watch.lap());
  counter.cpu_nanoseconds += nanoseconds(core_watch.lap());
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
