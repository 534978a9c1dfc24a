#pragma once

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/runner.h"

namespace tenon::tools {

/// --dumpOutput, --exportOutput and --dumpRawBindingsToFile, of the last query of a runner.
Status write_outputs(const Runner& runner, const Arguments& arguments, Console& console);

/// --dumpLayerInfo and --exportLayerInfo, with the extents of `context`; null: fixed ones only.
Status write_layer_information(const nvinfer1::ICudaEngine& engine,
                               const nvinfer1::IExecutionContext* context,
                               const Arguments& arguments, Console& console);

/// --dumpOptimizationProfile.
void print_optimization_profiles(const nvinfer1::ICudaEngine& engine, Console& console);

}  // namespace tenon::tools
