#pragma once

#include <NvInferPlugin.h>
#include <NvOnnxConfig.h>
#include <NvOnnxParser.h>

#include <array>

#include "harness.h"
#include "plugins.h"
#include "recorder.h"

namespace api_calls {

using namespace nvinfer1;
using api_test::Log;
using api_test::Recorder;

/// What applications hand over: each does as little as it may.
struct Callbacks final : IGpuAllocator,
                         IProfiler,
                         IOutputAllocator,
                         IDebugListener,
                         IProgressMonitor,
                         IAlgorithmSelector,
                         IStreamReader,
                         IStreamReaderV2,
                         IStreamWriter,
                         IPluginResource {
  void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override { return nullptr; }
  bool deallocate(void*) noexcept override { return true; }
  void* allocateAsync(uint64_t, uint64_t, AllocatorFlags, cudaStream_t) noexcept override {
    return nullptr;
  }
  bool deallocateAsync(void*, cudaStream_t) noexcept override { return true; }
  void reportLayerTime(const char*, float) noexcept override {}
  void* reallocateOutputAsync(const char*, void*, uint64_t, uint64_t,
                              cudaStream_t) noexcept override {
    return nullptr;
  }
  void notifyShape(const char*, const Dims&) noexcept override {}
  bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*,
                          cudaStream_t) override {
    return true;
  }
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override { return true; }
  void phaseFinish(const char*) noexcept override {}
  int32_t selectAlgorithms(const IAlgorithmContext&, const IAlgorithm* const*, int32_t,
                           int32_t*) noexcept override {
    return 0;
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*,
                        int32_t) noexcept override {}
  int64_t read(void*, int64_t) override { return 0; }
  int64_t read(void*, int64_t, cudaStream_t) noexcept override { return 0; }
  bool seek(int64_t, SeekPosition) noexcept override { return false; }
  int64_t write(const void*, int64_t) override { return 0; }
  int32_t release() noexcept override { return 0; }
  IPluginResource* clone() noexcept override { return this; }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"NONE", 1, 0}; }
};

struct Calibrator final : IInt8EntropyCalibrator2 {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void**, const char**, int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeCalibrationCache(const void*, size_t) noexcept override {}
};

/// One object of each class of the surface, and the arguments that calls are given.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;

  /// The object whose methods are called.
  template <class C> C* subject();

  Log log;
  Recorder recorder;
  Callbacks callbacks;
  Calibrator calibrator;
  plugin_test::Repeat repeat{2};
  plugin_test::Offset offset{2};
  /// Registries keep them longer than a world lasts.
  static inline plugin_test::RepeatCreator repeat_creator;
  static inline plugin_test::OffsetCreator offset_creator;
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network, other_network;
  std::unique_ptr<IBuilderConfig> config;
  IOptimizationProfile* profile = nullptr;
  ITensor *tensor = nullptr, *other_tensor = nullptr, *foreign_tensor = nullptr;
  ILoop* loop = nullptr;
  IIfConditional* conditional = nullptr;
  IAttention* attention = nullptr;
  std::unique_ptr<ITimingCache> timing_cache;
  const std::vector<std::byte>& plan() const;
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
  std::unique_ptr<IEngineInspector> inspector;
  std::unique_ptr<IRefitter> refitter;
  std::unique_ptr<ISerializationConfig> serialization;
  std::unique_ptr<IRuntimeConfig> runtime_config;
  std::unique_ptr<nvonnxparser::IParser> parser;
  std::unique_ptr<nvonnxparser::IParserRefitter> parser_refitter;
  std::unique_ptr<nvonnxparser::IOnnxConfig> onnx_config;
  std::unique_ptr<IHostMemory> host_memory;
  /// 1 MiB, at a multiple of 256.
  void* memory() { return memory_.data(); }
  std::array<ITensor*, 64> tensors{};
  static inline const char* const no_files[] = {"/none/plugin.so", nullptr};
  static inline const int64_t extents[] = {1, 1};

 private:
  void add_layers();
  ILayer* layer_where(bool (*is)(ILayer*)) const;

  api_test::Memory memory_;
  std::vector<std::unique_ptr<std::vector<float>>> kept_;
};

template <class C> C* World::subject() {
  return dynamic_cast<C*>(
      layer_where([](ILayer* layer) { return dynamic_cast<C*>(layer) != nullptr; }));
}

/// Of classes that are no layers.
template <> IPluginRegistry* World::subject<IPluginRegistry>();
template <> IHostMemory* World::subject<IHostMemory>();
template <> IRuntime* World::subject<IRuntime>();
template <> IRefitter* World::subject<IRefitter>();
template <> IOptimizationProfile* World::subject<IOptimizationProfile>();
template <> ISerializationConfig* World::subject<ISerializationConfig>();
template <> IRuntimeConfig* World::subject<IRuntimeConfig>();
template <> ICudaEngine* World::subject<ICudaEngine>();
template <> IExecutionContext* World::subject<IExecutionContext>();
template <> IEngineInspector* World::subject<IEngineInspector>();
template <> ITensor* World::subject<ITensor>();
template <> ILoop* World::subject<ILoop>();
template <> IIfConditional* World::subject<IIfConditional>();
template <> IAttention* World::subject<IAttention>();
template <> INetworkDefinition* World::subject<INetworkDefinition>();
template <> IBuilderConfig* World::subject<IBuilderConfig>();
template <> IBuilder* World::subject<IBuilder>();
template <> ITimingCache* World::subject<ITimingCache>();
template <> nvonnxparser::IParser* World::subject<nvonnxparser::IParser>();
template <> nvonnxparser::IParserRefitter* World::subject<nvonnxparser::IParserRefitter>();
template <> nvonnxparser::IOnnxConfig* World::subject<nvonnxparser::IOnnxConfig>();
template <> const nvonnxparser::IParserError* World::subject<const nvonnxparser::IParserError>();

}  // namespace api_calls
