#include "lower/prefetch.h"

#include <algorithm>
#include <cstdint>

namespace tenon {
namespace {

// Fetched bytes that wait for their use: a part of the last-level cache, which images need too, and
// so many where its size is not known or so large that others share it.
constexpr size_t kUsualWaiting = size_t{8} << 20;
constexpr size_t kMostWaiting = size_t{24} << 20;

size_t most_waiting(size_t cache_bytes) {
  return cache_bytes == 0 ? kUsualWaiting : std::min(cache_bytes / 4 * 3, kMostWaiting);
}

}  // namespace

std::vector<StepFetch> plan_prefetches(std::span<const PrefetchStep> steps, size_t cache_bytes) {
  const size_t most = most_waiting(cache_bytes);
  std::vector<StepFetch> fetches(steps.size());
  size_t at = 0, offset = 0;  // the next byte that no step fetches yet: of steps[at]
  for (size_t i = 0; i < steps.size(); ++i) {
    if (at <= i) at = i + 1, offset = 0;
    size_t waiting = offset;
    for (size_t j = i + 1; j < at; ++j) waiting += steps[j].packed.size();
    size_t wanted = std::min(steps[i].capacity, most - std::min(waiting, most));
    while (at < steps.size() && offset == steps[at].packed.size()) ++at, offset = 0;
    if (at == steps.size() || wanted == 0) continue;
    StepFetch& fetch = fetches[i];
    fetch = {static_cast<int>(at), static_cast<int64_t>(offset)};
    const std::byte* const begin = steps[at].packed.data() + offset;
    const std::byte* end = begin;
    // One stretch: weights of a plan lie in the order of use, with little between them.
    constexpr uintptr_t kGap = 4096;
    while (at < steps.size() && wanted > 0) {
      const auto rest = steps[at].packed.subspan(offset);
      const auto distance =
          reinterpret_cast<uintptr_t>(rest.data()) - reinterpret_cast<uintptr_t>(end);
      if (!rest.empty() && distance > kGap) break;
      const size_t taken = std::min(wanted, rest.size());
      if (!rest.empty()) end = rest.data() + taken;
      wanted -= taken;
      offset += taken;
      if (offset < steps[at].packed.size()) break;
      ++at, offset = 0;
    }
    fetch.bytes = end - begin;
  }
  return fetches;
}

}  // namespace tenon
