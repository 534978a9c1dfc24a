#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"

namespace tenon::getter_walk {

/// Asks each layer of a parsed network for all that its class tells, through the class that
/// programs cast it to by its type, and each tensor for its part. Returns the answers that none
/// should meet: a layer of another class than its type says, null in place of an object, extents
/// and weights that do not fit each other.
std::vector<std::string> ask(const nvinfer1::INetworkDefinition& network);

}  // namespace tenon::getter_walk
