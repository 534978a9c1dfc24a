#pragma once

#include <functional>
#include <memory>

#include "NvInfer.h"
#include "base/status.h"
#include "tenon/progress.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/report/json.h"

namespace tenon::tools {

/// Who follows a build, where its progress is not to be a line of the log.
struct BuildListener {
  /// The model is read, after so many seconds.
  std::function<void(const nvinfer1::INetworkDefinition& network, double seconds)> parsed;
  IBuildObserver* observer = nullptr;
};

/// Reads --onnx, builds and returns the plan. Errors of the library are on the console already.
/// `report`: receives what getBuildReport() tells; null for none.
Result<std::unique_ptr<nvinfer1::IHostMemory>> build_plan(const Arguments& arguments,
                                                          Console& console,
                                                          nvinfer1::ILogger& logger,
                                                          const BuildListener* listener = nullptr,
                                                          Json* report = nullptr);

}  // namespace tenon::tools
