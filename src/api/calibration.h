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
/// configuration wants that (setRandomCalibration), else none. Ranges of INT8 inputs and outputs,
/// which these need for themselves, are not counted as any.
Result<std::map<std::string, float>> find_ranges(const BuilderConfig& config,
                                                 const network::Network& network,
                                                 const Graph& graph, const Backend& backend,
                                                 int threads, Logger& logger);

/// Gives the reals behind INT8 inputs and ahead of INT8 outputs the ranges of these, and names.
void share_ranges_of_bindings(Graph& graph, std::map<std::string, float>& ranges);

}  // namespace tenon::api
