#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "network/io_formats.h"
#include "network/reported.h"
#include "runtime/engine.h"
#include "surface/implementation.h"

namespace tenon::api {

using namespace nvinfer1;  // The surface's own names, in the classes that implement it.
using nvinfer1::DataType;
using nvinfer1::Dims;

/// IRuntimeConfig: the one setting it has.
class RuntimeConfig final : public surface::Implementation<IRuntimeConfig> {
 public:
  RuntimeConfig(ExecutionContextAllocationStrategy strategy,
                std::shared_ptr<network::Reporter> reporter)
      : strategy_(strategy), reporter_(std::move(reporter)) {}
  void setExecutionContextAllocationStrategy(
      ExecutionContextAllocationStrategy strategy) noexcept override;
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy()
      const noexcept override {
    return strategy_;
  }

 private:
  ExecutionContextAllocationStrategy strategy_;
  std::shared_ptr<network::Reporter> reporter_;
};

/// ICudaEngine over a loaded plan. Tensors are numbered inputs first, then outputs.
class EngineHandle final : public network::Reported<ICudaEngine> {
 public:
  EngineHandle(std::shared_ptr<Engine> engine, std::shared_ptr<network::Reporter> reporter);

  Engine& engine() const { return *engine_; }
  std::shared_ptr<network::Reporter> shared_reporter() const { return reporter_; }
  /// Tensors that debug listeners see.
  const std::vector<std::string>& debug_tensors() const { return debug_; }
  /// The ones among these that are outputs for the listener's sake alone.
  const std::vector<std::string>& hidden_outputs() const { return hidden_; }
  /// The value of that name; logs and returns null when there is none.
  const Value* find(const char* name) const;
  /// Of an input or output that is not linear; else null.
  const network::IoFormat* format_of(std::string_view name) const;
  /// As the application sees it, of extents in the plan.
  Dims to_dims(std::string_view name, const Extents& extents) const;

  Dims getTensorShape(const char* tensorName) const noexcept override;
  DataType getTensorDataType(const char* tensorName) const noexcept override;
  int32_t getNbLayers() const noexcept override;
  IHostMemory* serialize() const noexcept override;
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy) noexcept override;
  TensorLocation getTensorLocation(const char* tensorName) const noexcept override;
  bool isShapeInferenceIO(const char* tensorName) const noexcept override;
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept override;
  const char* getAliasedInputTensor(const char* tensorName) const noexcept override;
  IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
  IExecutionContext* createExecutionContextWithRuntimeConfig(
      IRuntimeConfig* runtimeConfig) noexcept override;
  IRuntimeConfig* createRuntimeConfig() noexcept override;
  size_t getDeviceMemorySize() const noexcept override;
  size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
  int64_t getDeviceMemorySizeV2() const noexcept override;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
  bool isRefittable() const noexcept override;
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept override;
  int32_t getTensorBytesPerComponentV2(const char* tensorName,
                                       int32_t profileIndex) const noexcept override;
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept override;
  int32_t getTensorComponentsPerElementV2(const char* tensorName,
                                          int32_t profileIndex) const noexcept override;
  TensorFormat getTensorFormat(const char* tensorName) const noexcept override;
  TensorFormat getTensorFormatV2(const char* tensorName,
                                 int32_t profileIndex) const noexcept override;
  const char* getTensorFormatDesc(const char* tensorName) const noexcept override;
  const char* getTensorFormatDescV2(const char* tensorName,
                                    int32_t profileIndex) const noexcept override;
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept override;
  int32_t getTensorVectorizedDimV2(const char* tensorName,
                                   int32_t profileIndex) const noexcept override;
  const char* getName() const noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override;
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector select) const noexcept override;
  const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                        OptProfileSelector select) const noexcept override;
  EngineCapability getEngineCapability() const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override;
  TacticSources getTacticSources() const noexcept override;
  ProfilingVerbosity getProfilingVerbosity() const noexcept override;
  IEngineInspector* createEngineInspector() const noexcept override;
  int32_t getNbIOTensors() const noexcept override;
  const char* getIOTensorName(int32_t index) const noexcept override;
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override;
  int32_t getNbAuxStreams() const noexcept override;
  ISerializationConfig* createSerializationConfig() noexcept override;
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept override;
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudget() const noexcept override;
  int64_t getMinimumWeightStreamingBudget() const noexcept override;
  int64_t getStreamableWeightsSize() const noexcept override;
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudgetV2() const noexcept override;
  int64_t getWeightStreamingAutomaticBudget() const noexcept override;
  int64_t getWeightStreamingScratchMemorySize() const noexcept override;
  bool isDebugTensor(const char* name) const noexcept override;
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept override;
  int64_t getEngineStat(EngineStat stat) const noexcept override;
  IRefitter* createRefitter(ILogger& logger) noexcept override;

 private:
  IHostMemory* serialized(bool strip) const;
  IExecutionContext* make_context(ExecutionContextAllocationStrategy strategy) noexcept;
  /// Null for tensors that have none in profiles, and with an error where there is no such profile.
  const std::vector<int64_t>* profile_values(const char* name, int32_t index,
                                             OptProfileSelector select) const;

  /// The plan was built with kWEIGHT_STREAMING.
  bool is_streamable() const;
  bool streams_weights() const;
  Status set_budget(int64_t budget);
  /// The number of a profile that there is; else an error.
  bool is_profile(int32_t index) const;
  /// The format where channels are padded or packed, else null.
  const network::IoFormat* vectors_of(const char* name) const;

  std::shared_ptr<Engine> engine_;
  std::vector<const Value*> tensors_;
  std::vector<std::string> debug_, hidden_;
  network::IoFormats formats_;
  std::map<std::string, std::string, std::less<>> format_words_;  ///< By the tensor's name.
  std::optional<int64_t> streaming_budget_;
  /// The 32-bit form of the plan's values, for those who ask for it.
  mutable std::mutex narrow_mutex_;
  mutable std::map<const std::vector<int64_t>*, std::vector<int32_t>> narrow_values_;
};

}  // namespace tenon::api
