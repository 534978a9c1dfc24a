#pragma once

#include "api/builder_config.h"
#include "base/log.h"
#include "ir/graph.h"

namespace tenon::api {

/// Says what the flags for 8- and 4-bit types come to: scales are those of the network's Quantize
/// and Dequantize layers, and without them layers stay in floating point. `integers` tells that the
/// device has kernels for products of 8-bit integers.
void report_quantization(const BuilderConfig& config, const Graph& graph, bool integers,
                         Logger& logger);

}  // namespace tenon::api
