#pragma once

#include <functional>
#include <memory>

#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "base/status.h"
#include "tenon/progress.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/new_file.h"
#include "tools/report/json.h"
#include "tools/sparsity.h"

namespace tenon::tools {

/// Who follows a build, where its progress is not to be a line of the log.
struct BuildListener {
  /// The model is read, after so many seconds.
  std::function<void(const nvinfer1::INetworkDefinition& network, double seconds)> parsed;
  IBuildObserver* observer = nullptr;
  /// The flags are read, and the model is next.
  std::function<void()> reading = nullptr;
};

/// The model of --onnx as a network, and a configuration as the flags ask. The parser and the
/// calibrator keep what the network and the configuration refer to.
struct PreparedBuild {
  std::unique_ptr<nvinfer1::IBuilder> builder;
  std::unique_ptr<nvinfer1::INetworkDefinition> network;
  std::unique_ptr<nvinfer1::IBuilderConfig> config;
  std::unique_ptr<nvonnxparser::IParser> parser;
  std::unique_ptr<nvinfer1::IInt8Calibrator> calibrator;
  OwnedWeights weights;  ///< Of --sparsity=force.
};

/// Extents of inputs of which the flags say nothing: those of a build become 1.
enum class OpenExtents { kBecomeOne, kStay };

Result<PreparedBuild> prepare_build(const Arguments& arguments, Console& console,
                                    nvinfer1::ILogger& logger, const BuildListener* listener,
                                    OpenExtents open = OpenExtents::kBecomeOne);

struct BuiltPlan {
  std::unique_ptr<nvinfer1::IHostMemory> memory;  ///< Null where it went to a file.
  uint64_t size = 0;
};

/// Reads --onnx, builds and returns the plan. Errors of the library are on the console already.
/// `file` gets the plan, and is still to be saved; null: it stays in memory. `report`: receives
/// what getBuildReport() tells; null for none.
Result<BuiltPlan> build_plan(const Arguments& arguments, Console& console,
                             nvinfer1::ILogger& logger, NewFile* file = nullptr,
                             const BuildListener* listener = nullptr, Json* report = nullptr);

}  // namespace tenon::tools
