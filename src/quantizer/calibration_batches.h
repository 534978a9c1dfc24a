#pragma once

#include <vector>

#include "plan/plan.h"
#include "quantizer/quantize_settings.h"

namespace tenon {

/// Data for a network's inputs, cut into batches of one size.
struct CalibrationBatches {
  Profile profile;                          ///< The extents of a batch, alone.
  std::vector<std::vector<Tensor>> inputs;  ///< By batch, in the order of the network's inputs.
};

/// From the settings' data, samples along the first axis, in the types of the inputs; random
/// numbers, one batch, where there is none. Samples that do not fill a batch are left out.
Result<CalibrationBatches> calibration_batches(const Graph& network,
                                               const QuantizeSettings& settings);

}  // namespace tenon
