#pragma once

#include <map>
#include <mutex>

#include "NvInferRuntime.h"
#include "kernels/constant_store.h"
#include "kernels/tactic.h"

namespace tenon {

/// Resources for a plugin object that is attached to a context: memory of the device that it runs
/// on, and the application's error recorder. Thread-safe; memory left behind is freed with it.
class PluginResources final : public nvinfer1::IPluginResourceContext,
                              private nvinfer1::IGpuAllocator {
 public:
  explicit PluginResources(const Problem& problem)
      : device_(*problem.device),
        constants_(problem.constants),
        application_(problem.application) {}
  nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override {
    return const_cast<PluginResources*>(this);  // Allocating changes nothing of its interface.
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return application_ == nullptr
               ? nullptr
               : static_cast<nvinfer1::IErrorRecorder*>(application_->error_recorder());
  }

 private:
  void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override;
  bool deallocate(void* memory) noexcept override;

  Device& device_;
  ConstantStore* constants_;  ///< As Problem::constants.
  const Application* application_;
  std::mutex mutex_;
  std::map<void*, DeviceBuffer> buffers_;
};

}  // namespace tenon
