#pragma once

#include <map>
#include <mutex>

#include "NvInferRuntime.h"
#include "kernels/constant_store.h"
#include "kernels/tactic.h"
#include "plugin/collective.h"

namespace tenon {

/// The devices that a context runs on together with others: an attachment of no node.
std::shared_ptr<plugin::Communication> communication_of(Attachments& attachments);

/// Resources for a plugin object that is attached to a context: memory of the device that it runs
/// on, and the application's error recorder. Thread-safe; memory left behind is freed with it.
class PluginResources final : public nvinfer1::IPluginResourceContext,
                              public plugin::CollectiveResources,
                              private nvinfer1::IGpuAllocator {
 public:
  explicit PluginResources(const Problem& problem)
      : device_(*problem.device), constants_(problem.constants), application_(problem.application) {
    if (problem.attachments != nullptr) communication_ = communication_of(*problem.attachments);
  }
  nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override {
    return const_cast<PluginResources*>(this);  // Allocating changes nothing of its interface.
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return application_ == nullptr
               ? nullptr
               : static_cast<nvinfer1::IErrorRecorder*>(application_->error_recorder());
  }
  plugin::Communication* communication() override { return communication_.get(); }
  Status copy(void* to, const void* from, size_t bytes, void* stream) override {
    return device_.copy(to, from, bytes, {nullptr, stream});
  }

 private:
  void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override;
  bool deallocate(void* memory) noexcept override;

  Device& device_;
  ConstantStore* constants_;  ///< As Problem::constants.
  const Application* application_;
  std::shared_ptr<plugin::Communication> communication_;
  std::mutex mutex_;
  std::map<void*, DeviceBuffer> buffers_;
};

}  // namespace tenon
