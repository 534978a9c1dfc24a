#pragma once

#include <memory>
#include <vector>

#include "NvInfer.h"
#include "tools/console.h"

namespace tenon::tools {

/// Weights that a network refers to until it is built.
using OwnedWeights = std::vector<std::unique_ptr<std::vector<char>>>;

/// Gives constant weights of convolutions and products the pattern of sparse tensor cores: of each
/// four along the sums the two smaller ones become 0. Results change.
OwnedWeights force_sparsity(nvinfer1::INetworkDefinition& network, Console& console);

}  // namespace tenon::tools
