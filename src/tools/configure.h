#pragma once

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/profiles.h"

namespace tenon::tools {

/// Sets types and formats of inputs and outputs, and the precisions of layers, as asked.
Status configure_network(nvinfer1::INetworkDefinition& network, const Arguments& arguments,
                         Console& console);

/// Sets flags, limits and levels, as asked.
Status configure_builder(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config,
                         const Arguments& arguments, Console& console, nvinfer1::ILogger& logger);

/// Adds one optimization profile for each of `profiles` where the network has dynamic inputs.
/// Extents that nothing was said of become 1, with a warning; a name that is no input is an error.
Status add_profiles(nvinfer1::IBuilder& builder, nvinfer1::INetworkDefinition& network,
                    nvinfer1::IBuilderConfig& config, const std::vector<ProfileShapes>& profiles,
                    Console& console);

}  // namespace tenon::tools
