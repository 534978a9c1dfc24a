#include "quantizer/graph_scales.h"

#include <algorithm>
#include <cmath>

#include "ops/ops.h"

namespace tenon {
namespace {

constexpr double kLargest = 127;

Constant* constant_of(Value* value) {
  return value == nullptr || value->producer() == nullptr ? nullptr
                                                          : value->producer()->as<Constant>();
}

}  // namespace

float scale_of_range(float range) {
  return range > 0 ? static_cast<float>(range / kLargest) : 1.0F;
}

float range_of_scale(float scale) {
  return static_cast<float>(scale * kLargest);
}

Tensor channel_scales(const Tensor& weights, int64_t axis) {
  const auto at = static_cast<size_t>(axis);
  const auto channels = static_cast<size_t>(weights.extents()[at]);
  size_t inner = 1;
  for (size_t i = at + 1; i < weights.extents().size(); ++i)
    inner *= static_cast<size_t>(weights.extents()[i]);
  const auto numbers = weights.values<float>();
  std::vector<float> scales(channels, 0.0F);
  for (size_t i = 0; i < numbers.size(); ++i) {
    float& most = scales[i / inner % channels];
    most = std::max(most, std::abs(numbers[i]));
  }
  for (float& scale : scales) scale = scale_of_range(scale);
  return Tensor::of<float>(DataType::kFloat32, {weights.extents()[at]}, scales);
}

std::vector<RoundedTensor> rounded_tensors(const Graph& graph) {
  std::vector<RoundedTensor> found;
  for (const auto& node : graph.nodes()) {
    if (!node->is<Quantize>() || node->input(0)->constant() != nullptr) continue;
    if (node->input(0)->name.empty()) continue;  // Applications know it by no name.
    if (Constant* scale = constant_of(node->input(1)); scale != nullptr)
      found.push_back({node->input(0)->name, scale});
  }
  return found;
}

std::vector<FittedScale> fitted_weight_scales(const Graph& graph) {
  std::vector<FittedScale> found;
  for (const auto& node : graph.nodes()) {
    const auto* quantize = node->as<Quantize>();
    if (quantize == nullptr) continue;
    const Tensor* weights = node->input(0)->constant();
    Constant* scale = constant_of(node->input(1));
    if (weights != nullptr && weights->defined() && scale != nullptr)
      found.push_back({scale, channel_scales(*weights, quantize->axis)});
  }
  return found;
}

}  // namespace tenon
