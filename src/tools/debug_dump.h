#pragma once

#include <vector>

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/exports.h"

namespace tenon::tools {

/// --saveDebugTensors and --saveAllDebugTensors: one more run of the context, whose inputs and
/// outputs are set, with a listener that writes the tensors of --markDebug.
Status dump_debug_tensors(nvinfer1::IExecutionContext& context, const Arguments& arguments,
                          Console& console);

/// The values of all debug tensors of one more run, in the order in which they are computed.
Result<std::vector<OutputValues>> gather_debug_tensors(nvinfer1::IExecutionContext& context,
                                                       const Arguments& arguments,
                                                       Console& console);

}  // namespace tenon::tools
