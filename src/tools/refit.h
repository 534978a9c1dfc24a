#pragma once

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// --dumpRefit, --refitFromOnnx and --timeRefit, for engines that were built with --refit.
Status refit_engine(nvinfer1::ICudaEngine& engine, const Arguments& arguments, Console& console,
                    nvinfer1::ILogger& logger);

}  // namespace tenon::tools
