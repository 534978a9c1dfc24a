#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/debug_tensors.h"
#include "base/function_ref.h"

namespace tenon::api {

/// IExecutionContext: one thread's use of an engine.
class ContextHandle final : public network::Reported<IExecutionContext> {
 public:
  ContextHandle(EngineHandle& engine, std::unique_ptr<Context> context,
                ExecutionContextAllocationStrategy strategy);

  /// Ends the context first, which waits for its last run: that may write to debug tensors.
  ~ContextHandle() override { context_.reset(); }
  Context& context() { return *context_; }
  /// Of include/tenon/runtime.h.
  void set_stop_function(std::function<bool()> asked) { asked_ = std::move(asked); }
  bool set_graph_replay(bool replay) { return context_->set_graph_replay(replay); }

  void setDebugSync(bool sync) noexcept override;
  bool getDebugSync() const noexcept override;
  void setProfiler(IProfiler* profiler) noexcept override;
  IProfiler* getProfiler() const noexcept override;
  const ICudaEngine& getEngine() const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override;
  void setDeviceMemory(void* memory) noexcept override;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
  Dims getTensorStrides(const char* tensorName) const noexcept override;
  int32_t getOptimizationProfile() const noexcept override;
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept override;
  Dims getTensorShape(const char* tensorName) const noexcept override;
  bool allInputDimensionsSpecified() const noexcept override;
  bool allInputShapesSpecified() const noexcept override;
  bool executeV2(void* const* bindings) noexcept override;
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept override;
  bool getEnqueueEmitsProfile() const noexcept override;
  bool reportToProfiler() const noexcept override;
  bool setTensorAddress(const char* tensorName, void* data) noexcept override;
  const void* getTensorAddress(const char* tensorName) const noexcept override;
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept override;
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept override;
  void* getOutputTensorAddress(const char* tensorName) const noexcept override;
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept override;
  size_t updateDeviceMemorySizeForShapes() noexcept override;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override;
  cudaEvent_t getInputConsumedEvent() const noexcept override;
  bool setOutputAllocator(const char* tensorName,
                          IOutputAllocator* outputAllocator) noexcept override;
  IOutputAllocator* getOutputAllocator(const char* tensorName) noexcept override;
  int64_t getMaxOutputSize(const char* tensorName) const noexcept override;
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept override;
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept override;
  bool enqueueV3(cudaStream_t stream) noexcept override;
  void setPersistentCacheLimit(size_t size) noexcept override;
  size_t getPersistentCacheLimit() const noexcept override;
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept override;
  ProfilingVerbosity getNvtxVerbosity() const noexcept override;
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
  bool setDebugListener(IDebugListener* listener) noexcept override;
  IDebugListener* getDebugListener() noexcept override;
  bool setTensorDebugState(const char* name, bool flag) noexcept override;
  bool getDebugState(const char* name) const noexcept override;
  IRuntimeConfig* getRuntimeConfig() const noexcept override;
  bool setAllTensorsDebugState(bool flag) noexcept override;
  bool setUnfusedTensorsDebugState(bool flag) noexcept override;
  bool getUnfusedTensorsDebugState() const noexcept override;
  bool setCommunicator(void* communicator) noexcept override;

 private:
  /// Logs an error; true when there is none.
  bool succeed(const Status& status) const;
  /// The same for the work of a call of that name, exceptions included.
  bool succeed(const char* call, FunctionRef<Status()> f) const;
  /// The end of a run.
  Status finish(void* stream);

  EngineHandle& engine_;
  std::unique_ptr<Context> context_;
  DebugTensors debug_;
  ExecutionContextAllocationStrategy strategy_;
  std::string name_;
  IProfiler* profiler_ = nullptr;
  bool enqueue_emits_profile_ = true;
  std::function<bool()> asked_;  ///< Whether a run is to end.
  bool debug_sync_ = false;
  Status enqueue_observed(void* stream);
  bool syncs_layers_ = false;  ///< In the run that is under way, for debug_sync_.
  cudaEvent_t input_consumed_ = nullptr;
  IGpuAllocator* temporary_allocator_ = nullptr;
  size_t persistent_cache_limit_ = 0;
  ProfilingVerbosity nvtx_verbosity_ = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  std::map<std::string, IOutputAllocator*> output_allocators_;
  /// Times of the last profiled run, in order, until they are reported.
  class LayerTimes final : public StepTimes {
   public:
    void report(const Node& node, double milliseconds) override {
      times.emplace_back(&node, milliseconds);
    }
    std::vector<std::pair<const Node*, double>> times;
  };
  mutable LayerTimes layer_times_;
};

}  // namespace tenon::api
