#include "select/machine_pace.h"

#include <sys/mman.h>

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
/// Bytes that are copied: of many a small part, which caches do not hold, and little beside the
/// work of the smallest build.
constexpr double kPart = 1.0 / 64, kLeast = 1 << 21, kMost = 1 << 24;
/// In the book: the number of measurements, and the sum of their logarithms.
constexpr const char* kByteEntry = "byte of the machine";

/// Seconds to copy them into memory of the system's; the heap may have some that was used before.
double copy_to_fresh_memory(const std::vector<std::byte>& source) {
  Stopwatch watch;
  void* const fresh =
      mmap(nullptr, source.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return std::numeric_limits<double>::infinity();
  std::memcpy(fresh, source.data(), source.size());
  const double took = watch.lap();
  munmap(fresh, source.size());
  return took;
}

}  // namespace

MachinePace MachinePace::measured(double bytes) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  MachinePace pace{kUnknown, kUnknown};
  const auto copied = static_cast<size_t>(std::clamp(kPart * bytes, kLeast, kMost));
  const std::vector<std::byte> source(copied, std::byte{1});
  // Nothing may be computed ahead, or left out.
  volatile double factor = 0.999, term = 0.001, result = 0;
  for (int i = 0; i < kTimes; ++i) {
    Stopwatch watch;
    double value = 1;
    const double by = factor, plus = term;
    for (int k = 0; k < kSteps; ++k) value = value * by + plus;
    result = value;
    pace.step = std::min(pace.step, watch.lap() / kSteps);
    pace.byte =
        std::min(pace.byte, copy_to_fresh_memory(source) / static_cast<double>(source.size()));
  }
  static_cast<void>(result);
  // No memory is left: any order of magnitude does.
  if (!std::isfinite(pace.byte)) pace.byte = pace.step;
  return pace;
}

MachinePace MachinePace::among_earlier(PaceBook& book) const {
  double count = 1, sum = std::log(byte);
  if (const auto before = book.find(kByteEntry); before.size() == 2 && before[0] > 0) {
    count += PaceBook::kEarlier * before[0];
    sum += PaceBook::kEarlier * before[1];
  }
  book.set(kByteEntry, {count, sum});
  return {step, std::exp(sum / count)};
}

}  // namespace tenon
