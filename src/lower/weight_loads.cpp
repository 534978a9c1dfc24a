#include "lower/weight_loads.h"

#include <algorithm>

namespace tenon {
namespace {

/// Most bytes that two groups of readers take that follow each other.
size_t room_for_two(std::span<const StreamedWeight> weights, std::span<const StepSpan> groups) {
  size_t most = 0, ahead = 0, here = 0;
  int group = -1;
  for (const StreamedWeight& weight : weights) {
    if (const int first = groups[weight.step].first; first != group) {
      ahead = here, here = 0;
      group = first;
    }
    here += weight.bytes;
    most = std::max(most, ahead + here);
  }
  return most;
}

}  // namespace

std::vector<int> plan_weight_loads(std::span<const StreamedWeight> weights,
                                   std::span<const StepSpan> groups) {
  const size_t room = room_for_two(weights, groups);
  std::vector<int> begins;
  size_t oldest = 0, taken = 0;
  int begin = 0;
  for (const StreamedWeight& weight : weights) {
    taken += weight.bytes;
    // Memory is free again behind the reader's group.
    for (; taken > room; ++oldest) {
      taken -= weights[oldest].bytes;
      begin = groups[weights[oldest].step].end;
    }
    begins.push_back(begin);
  }
  return begins;
}

}  // namespace tenon
