#pragma once

#include "NvInfer.h"
#include "plugin/registry.h"

namespace tenon::onnx_suite {

/// A builder that builds nothing: networks know theirs, and the one of the library would bring all
/// kernels into a program that runs none.
class NoBuilder final : public nvinfer1::IBuilder {
 public:
  bool platformHasFastFp16() const noexcept override { return false; }
  bool platformHasFastInt8() const noexcept override { return false; }
  bool platformHasTf32() const noexcept override { return false; }
  int32_t getMaxDLABatchSize() const noexcept override { return 0; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nvinfer1::IGpuAllocator*) noexcept override {}
  nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override { return nullptr; }
  nvinfer1::INetworkDefinition* createNetworkV2(
      nvinfer1::NetworkDefinitionCreationFlags) noexcept override {
    return nullptr;
  }
  nvinfer1::IOptimizationProfile* createOptimizationProfile() noexcept override { return nullptr; }
  void setErrorRecorder(nvinfer1::IErrorRecorder*) noexcept override {}
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }
  void reset() noexcept override {}
  nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition&,
                                                nvinfer1::IBuilderConfig&) noexcept override {
    return nullptr;
  }
  nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition&,
                                                nvinfer1::IBuilderConfig&,
                                                nvinfer1::IHostMemory*&) noexcept override {
    return nullptr;
  }
  bool buildSerializedNetworkToStream(nvinfer1::INetworkDefinition&, nvinfer1::IBuilderConfig&,
                                      nvinfer1::IStreamWriter&) noexcept override {
    return false;
  }
  nvinfer1::ICudaEngine* buildEngineWithConfig(nvinfer1::INetworkDefinition&,
                                               nvinfer1::IBuilderConfig&) noexcept override {
    return nullptr;
  }
  bool isNetworkSupported(const nvinfer1::INetworkDefinition&,
                          const nvinfer1::IBuilderConfig&) const noexcept override {
    return false;
  }
  nvinfer1::ILogger* getLogger() const noexcept override { return nullptr; }
  bool setMaxThreads(int32_t) noexcept override { return false; }
  int32_t getMaxThreads() const noexcept override { return 1; }
  nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override { return plugin::registry(); }
};

}  // namespace tenon::onnx_suite
