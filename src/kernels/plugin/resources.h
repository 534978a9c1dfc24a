#pragma once

#include <map>
#include <mutex>

#include "NvInferRuntime.h"
#include "device/device.h"

namespace tenon {

/// What a plugin object that is attached to a context may use: memory of the device that it runs
/// on. Thread-safe; what is left behind is freed with it.
class PluginResources final : public nvinfer1::IPluginResourceContext,
                              private nvinfer1::IGpuAllocator {
 public:
  explicit PluginResources(Device& device) : device_(device) {}
  nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override {
    return const_cast<PluginResources*>(this);  // Allocating changes nothing of what it offers.
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }

 private:
  void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override;
  bool deallocate(void* memory) noexcept override;

  Device& device_;
  std::mutex mutex_;
  std::map<void*, DeviceBuffer> buffers_;
};

}  // namespace tenon
