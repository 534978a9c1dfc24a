#pragma once

#include <string>

#include "base/log.h"
#include "quantizer/quantize_settings.h"

namespace tenon {

/// Quantizes the ONNX model `path` by QuantizeLinear and DequantizeLinear nodes and writes it to
/// `output`. Ranges of activations come from the settings' data, run on the CPU.
Result<QuantizeOutcome> quantize_onnx(const std::string& path, const std::string& output,
                                      const QuantizeSettings& settings, Logger& logger);

}  // namespace tenon
