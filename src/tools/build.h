#pragma once

#include <memory>

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// Reads --onnx, builds and returns the plan. Errors of the library are on the console already.
Result<std::unique_ptr<nvinfer1::IHostMemory>> build_plan(const Arguments& arguments,
                                                          Console& console,
                                                          nvinfer1::ILogger& logger);

}  // namespace tenon::tools
