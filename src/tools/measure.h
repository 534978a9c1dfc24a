#pragma once

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// Makes contexts and buffers, runs as long as asked, and reports: the inference part of trtexec.
Status measure_engine(nvinfer1::ICudaEngine& engine, const Arguments& arguments, Console& console);

}  // namespace tenon::tools
