#pragma once

#include <memory>
#include <string>

#include "NvInfer.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/build.h"
#include "tools/console.h"

namespace tenon::tools {

/// A runtime and the engine it made. The engine goes first.
struct LoadedEngine {
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
};

/// A plan in memory, or the file that it lies in.
struct PlanSource {
  std::unique_ptr<nvinfer1::IHostMemory> memory;  ///< Null for a file.
  std::string file;

  Result<MappedBytes> bytes() const;
};

/// Saves a plan, which is in `written` or in memory; the memory of a large one goes to the file.
Result<PlanSource> save_plan(BuiltPlan plan, NewFile* written, const std::string& file);

Result<LoadedEngine> load_engine(const PlanSource& plan, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger);
/// From a plan file, which is mapped.
Result<LoadedEngine> load_engine(const std::string& file, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger);

Result<LoadedEngine> deserialize(std::span<const char> plan, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger);

/// Reads the plan file's first bytes alone: "10.16.0.72".
Result<std::string> plan_version(const std::string& file);

/// --timeDeserialize: two loads to warm up, then a first and twenty timed ones.
Status time_deserialize(std::span<const char> plan, Console& console, nvinfer1::ILogger& logger);

}  // namespace tenon::tools
