#include "tools/commands/plan_steps.h"

#include <cstring>
#include <vector>

#include "tenon/inspect.h"
#include "tools/engine_file.h"

namespace tenon::tools {
namespace {

using nvinfer1::OptProfileSelector;

/// The usual shape, and for inputs whose contents decide shapes the usual contents.
Status give_usual(nvinfer1::IExecutionContext& context, const char* name,
                  std::vector<int64_t>& contents) {
  const nvinfer1::ICudaEngine& engine = context.getEngine();
  const nvinfer1::Dims shape = engine.getProfileShape(name, 0, OptProfileSelector::kOPT);
  if (shape.nbDims >= 0 && !context.setInputShape(name, shape))
    return user_error("input '{}' does not take its profile's shape", name);
  const int64_t* usual = engine.getProfileTensorValuesV2(name, 0, OptProfileSelector::kOPT);
  if (usual == nullptr) return {};
  size_t count = 1;
  for (int i = 0; i < shape.nbDims; ++i) count *= static_cast<size_t>(shape.d[i]);
  contents.assign(usual, usual + count);
  if (engine.getTensorDataType(name) == nvinfer1::DataType::kINT32) {
    const std::vector<int32_t> narrow(usual, usual + count);
    std::memcpy(contents.data(), narrow.data(), count * sizeof(int32_t));
  }
  context.setInputTensorAddress(name, contents.data());
  return {};
}

}  // namespace

Result<std::string> plan_steps(Session& session, const std::string& file) {
  nvinfer1::ILogger& logger = session.logger();
  TENON_ASSIGN(const LoadedEngine loaded,
               load_engine(file, Arguments(), session.console(), logger));
  nvinfer1::ICudaEngine& engine = *loaded.engine;
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine.createExecutionContext());
  if (context == nullptr) return user_error("'{}' gives no context", file);
  std::vector<std::vector<int64_t>> contents(static_cast<size_t>(engine.getNbIOTensors()));
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT)
      TENON_TRY(give_usual(*context, name, contents[static_cast<size_t>(i)]));
  }
  const std::unique_ptr<nvinfer1::IHostMemory> text(describeSteps(*context));
  if (text == nullptr)
    return user_error("'{}' has no steps to show: the lines above say why", file);
  return std::string(static_cast<const char*>(text->data()), text->size());
}

}  // namespace tenon::tools
