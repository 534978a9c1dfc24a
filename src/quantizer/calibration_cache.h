#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tenon {

/// Ranges of tensors by name, as calibrations keep them between builds. The text is TensorRT's:
/// "TRT-101600-EntropyCalibration2", then a line "name: 3c010a14" for each tensor, the bits of the
/// scale (range / 127) as a float.
struct CalibrationCache {
  std::string algorithm;                ///< "EntropyCalibration2".
  std::map<std::string, float> ranges;  ///< Largest absolute value that a tensor is quantized for.

  std::string text() const;
  static Result<CalibrationCache> parse(std::string_view text);
};

}  // namespace tenon
