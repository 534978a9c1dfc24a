#pragma once

#include <map>
#include <string>
#include <vector>

#include "quantizer/onnx_layers.h"

namespace tenon {

/// Raises opset and IR version as far as the settings' number types need for layers that are not
/// refused. Numbers of nodes change.
Status raise_versions(OnnxModel& model, const std::vector<OnnxLayer>& layers,
                      const OnnxTypes& types, const QuantizeSettings& settings);

/// The model with weights of the layers that are not refused quantized, and QuantizeLinear and
/// DequantizeLinear at `pairs`, by `ranges` (largest absolute values by tensor). Scales have the
/// type of the numbers that they are for.
Result<OnnxModel> with_pairs(const OnnxModel& model, const std::vector<OnnxLayer>& layers,
                             const std::vector<OnnxPair>& pairs, const OnnxTypes& types,
                             const std::map<std::string, float>& ranges,
                             const QuantizeSettings& settings);

/// The types of values in this mode.
DataType quantized_type(QuantizeMode mode);

}  // namespace tenon
