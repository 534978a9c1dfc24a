#pragma once

#include <memory>

#include "ir/graph.h"

namespace tenon {

/// Small networks with weights that are the same each time.
/// Convolutions with a residual, pooling, a product and softmax; with `quantized` the convolutions
/// are between quantization and its reverse.
std::unique_ptr<Graph> image_network(bool quantized = false);
/// Two layers of causal attention and gated products over tokens.
std::unique_ptr<Graph> token_network();

}  // namespace tenon
