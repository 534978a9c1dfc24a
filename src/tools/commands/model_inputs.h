#pragma once

#include <vector>

#include "NvInfer.h"
#include "tools/values.h"

namespace tenon::tools {

/// Inputs of a network that is evaluated without a plan.

/// The extents that are given for an input; else its own, open ones 1.
nvinfer1::Dims usual_dims(const nvinfer1::ITensor& input, const std::vector<NamedShape>& shapes);

/// A profile of exactly these extents, which the builder owns.
nvinfer1::IOptimizationProfile& usual_profile(nvinfer1::IBuilder& builder,
                                              const nvinfer1::INetworkDefinition& network,
                                              const std::vector<NamedShape>& shapes);

/// Contents of all inputs, in the network's order; none where no files are given.
Result<std::vector<std::vector<char>>> read_inputs(const nvinfer1::INetworkDefinition& network,
                                                   const std::vector<NamedShape>& shapes,
                                                   const std::vector<NamedText>& files);

}  // namespace tenon::tools
