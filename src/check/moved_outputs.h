#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "ir/graph.h"
#include "ops/numerics.h"

namespace tenon {

/// By how much the types of a plan move the network's outputs, in words.
struct MovedOutputs {
  const Graph& network;
  std::span<const Tensor> actual;    ///< Of the plan.
  std::span<const Tensor> expected;  ///< Of the network in its own precision.
  std::span<const Tensor> rounded;   ///< Of an evaluation that rounds as the plan; may be empty.

  /// Distances from here on are told.
  static constexpr double kNotable = 5e-3;

  /// "fp16 moves output 'y' by 2.8e-2; rounding alone by 2.7e-2". `types` names the precision.
  std::string by_precision(std::string_view types, std::span<const Deviation> found) const;

  /// "int8 moves output 'y' by 0.02 of its size", from the network before it was quantized, whose
  /// outputs `plain` are: agreement with the quantized one says nothing of the ranges. Warns where
  /// the ranges leave little of an output.
  std::string by_quantization(std::span<const Tensor> plain, Logger& logger) const;
};

}  // namespace tenon
