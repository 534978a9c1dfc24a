#pragma once

#include <memory>

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// Where --int8 (or --best) meets a network without QuantizeLinear and DequantizeLinear: gives the
/// configuration a calibrator with the cache of --calib, which is returned and must live as long as
/// the build, or, without a cache, has the build make up ranges, with a warning. Null where there
/// is nothing to calibrate.
Result<std::unique_ptr<nvinfer1::IInt8Calibrator>> give_int8_ranges(
    nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
    const Arguments& arguments, Console& console);

}  // namespace tenon::tools
