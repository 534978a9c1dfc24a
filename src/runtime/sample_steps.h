#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "kernels/sample_turns.h"
#include "kernels/tactic.h"

namespace tenon {

/// A step of a batch as a step of one turn of it.
struct SampleStep {
  Problem problem;                                 ///< Of one turn.
  int64_t samples = 1;                             ///< Turns.
  std::vector<int64_t> input_bytes, output_bytes;  ///< From one turn's operand to the next one's.
};

/// The step for one turn, where it treats the samples of a batch separately and where that pays:
/// its images are larger than caches are, its weights are not. Turns of a batch are of one size:
/// the largest up to the given one.
std::optional<SampleStep> sample_step(const Problem& whole, const SampleTurns& turns);

/// The plan's setting of its turns, as text and back; nothing for invalid ones.
inline constexpr const char* kTurnsSetting = "sample_turns";
std::string to_text(const SampleTurns& turns);
std::optional<SampleTurns> parse_turns(std::string_view text);
/// Of plans that have no such setting.
inline SampleTurns usual_turns(const Device& device) {
  return {.samples = device.capabilities().host_cores ? 1 : 0};
}

}  // namespace tenon
