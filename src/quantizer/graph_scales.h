#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/structure.h"

namespace tenon {

/// Scales that quantize_graph puts into a graph, as constants, and where they are found again. The
/// network had no quantization of its own.

/// The scale of numbers up to `range` in 8 bits; 1 where all are 0.
float scale_of_range(float range);
float range_of_scale(float scale);
/// One scale for each extent of f32 weights along the axis.
Tensor channel_scales(const Tensor& weights, int64_t axis);

/// A tensor that the graph rounds to 8 bits by one scale.
struct RoundedTensor {
  std::string name;
  Constant* scale = nullptr;
};
std::vector<RoundedTensor> rounded_tensors(const Graph& graph);

/// The scales of quantized weights, and what they are for the weights that the graph has now.
struct FittedScale {
  Constant* scale = nullptr;
  Tensor fitted;
};
std::vector<FittedScale> fitted_weight_scales(const Graph& graph);

}  // namespace tenon
