#pragma once

#include <map>
#include <string>

#include "api/builder_config.h"
#include "kernels/backend.h"
#include "network/network.h"

namespace tenon::api {

/// Whether the build derives its quantization from ranges: INT8 is allowed, the network is weakly
/// typed, and has no QuantizeLinear or DequantizeLinear of its own.
bool quantizes_implicitly(const BuilderConfig& config, const network::Network& network,
                          const Graph& graph);

/// Largest absolute values by tensor, as ITensor::setDynamicRange set them.
std::map<std::string, float> dynamic_ranges(const network::Network& network);

/// Largest absolute values by tensor: those of the network's calibrator (from its cache, or from
/// batches that run through the network on the backend's device), under those that
/// ITensor::setDynamicRange set. Where there are neither, those of a run with random inputs if the
/// configuration wants that (setRandomCalibration), else none.
Result<std::map<std::string, float>> find_ranges(const BuilderConfig& config,
                                                 const network::Network& network,
                                                 const Graph& graph, const Backend& backend,
                                                 int threads, Logger& logger);

}  // namespace tenon::api
