#pragma once

#include <cstdint>

namespace tenon {

/// Batches of images may run in turns of some samples: neighbouring steps one after the other for
/// each turn, so that they find each other's results in the caches.
struct SampleTurns {
  int64_t samples = 1;             ///< Of a turn; 0: batches run whole.
  int64_t most_bytes = INT64_MAX;  ///< Of a step's operands in a turn; steps of more run whole.
  bool operator==(const SampleTurns&) const = default;
};

}  // namespace tenon
