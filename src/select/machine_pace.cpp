#include "select/machine_pace.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "base/stopwatch.h"

namespace tenon {
namespace {

constexpr int kSteps = 100'000, kTimes = 3;
constexpr size_t kBytes = size_t{2} << 20;
// Enough to be hashed at full rate, and little beside the work of the smallest build.
constexpr size_t kHashed = size_t{128} << 10;

/// Seconds to copy them into memory of the system's; the heap may have some that was used before.
double copy_to_fresh_memory(const std::vector<std::byte>& source) {
  Stopwatch watch;
  void* const fresh =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return std::numeric_limits<double>::infinity();
  std::memcpy(fresh, source.data(), kBytes);
  const double took = watch.lap();
  munmap(fresh, kBytes);
  return took;
}

}  // namespace

MachinePace MachinePace::measured() {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  MachinePace pace{kUnknown, kUnknown, kUnknown};
  const std::vector<std::byte> source(kBytes, std::byte{1});
  // Nothing may be computed ahead, or left out.
  volatile double factor = 0.999, term = 0.001, result = 0;
  for (int i = 0; i < kTimes; ++i) {
    Stopwatch watch;
    double value = 1;
    const double by = factor, plus = term;
    for (int k = 0; k < kSteps; ++k) value = value * by + plus;
    result = value;
    pace.step = std::min(pace.step, watch.lap() / kSteps);
    pace.byte = std::min(pace.byte, copy_to_fresh_memory(source) / static_cast<double>(kBytes));
    watch.lap();
    result = static_cast<double>(XXH3_128bits(source.data(), kHashed).low64);
    pace.read = std::min(pace.read, watch.lap() / static_cast<double>(kHashed));
  }
  static_cast<void>(result);
  // No memory is left: any order of magnitude does.
  if (!std::isfinite(pace.byte)) pace.byte = pace.step;
  return pace;
}

}  // namespace tenon
