#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantizer/onnx_model.h"
#include "quantizer/placement.h"
#include "quantizer/quantize_settings.h"

namespace tenon {

/// A convolution or product of a model with constant weights.
struct OnnxLayer {
  int node = 0;  ///< Its index in the graph.
  std::string name, op_type;
  int64_t channel_axis = 0;  ///< Of the weights: output channels.
  int64_t sum_axis = 1;      ///< Along which products are summed.
  std::string refusal;       ///< Why it is not quantized; empty: it is.
};

/// Layers in bodies of control flow, which stay as they are.
int64_t count_inner_layers(const OnnxModel& model);
/// And in the model's own functions, which do as well.
int64_t count_function_layers(const OnnxModel& model);

/// Types of operators in the settings that no layer has.
std::vector<std::string> unmatched_types(const std::vector<OnnxLayer>& layers,
                                         const QuantizeSettings& settings);
/// Patterns of the settings that match no layer.
std::vector<std::string> unmatched_patterns(const std::vector<OnnxLayer>& layers,
                                            const QuantizeSettings& settings);

/// The layers of the model's main graph with weights, in order, those that the settings leave out
/// with the reason.
std::vector<OnnxLayer> find_layers(const OnnxModel& model, const QuantizeSettings& settings);

/// A node's operand that is read through QuantizeLinear and DequantizeLinear.
struct OnnxPair {
  int node = 0, input = 0;
};
/// The types and shapes of a model's tensors, as far as they are known.
using OnnxTypes = std::map<std::string, TensorType>;

/// Where activations are quantized for those of the layers that are not refused.
std::vector<OnnxPair> place_pairs(const OnnxModel& model, const std::vector<OnnxLayer>& layers,
                                  const OnnxTypes& types);

/// Gives tensors that are quantized and hold the same numbers, as the operands of a join and the
/// parts split from it, the largest of their ranges.
void share_ranges(const OnnxModel& model, const std::vector<OnnxPair>& pairs,
                  const OnnxTypes& types, std::map<std::string, float>& ranges);

}  // namespace tenon
