#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/tactic.h"

namespace tenon {

/// A step of a batch as a step of one sample of it.
struct SampleStep {
  Problem problem;  ///< Of one sample.
  int64_t samples = 1;
  std::vector<int64_t> input_bytes, output_bytes;  ///< From one sample's operand to the next one's.
};

/// The step for one sample, where it treats the samples of a batch separately and where that pays:
/// its images are larger than caches are, its weights are not. Steps in a row that run for one
/// sample after the other find each other's results in the caches.
std::optional<SampleStep> sample_step(const Problem& whole);

}  // namespace tenon
