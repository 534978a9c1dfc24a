#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/device.h"
#include "tools/bindings.h"

namespace tenon::tools {

/// Something that a GPU made; destroyed with its owner.
class GpuOwned {
 public:
  GpuOwned() = default;
  GpuOwned(IGpu& gpu, void* made) : gpu_(&gpu), made_(made) {}
  GpuOwned(GpuOwned&& other) noexcept
      : gpu_(other.gpu_), made_(std::exchange(other.made_, nullptr)) {}
  GpuOwned& operator=(GpuOwned&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(made_, other.made_);
    return *this;
  }
  ~GpuOwned() {
    if (made_ != nullptr) gpu_->destroy(made_);
  }
  void* get() const { return made_; }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(made_); }
  cudaEvent_t event() const { return static_cast<cudaEvent_t>(made_); }

 private:
  IGpu* gpu_ = nullptr;
  void* made_ = nullptr;
};

/// Device and page-locked host memory of one tensor. As an output allocator it serves outputs whose
/// extents only the run tells.
class GpuBuffer final : public nvinfer1::IOutputAllocator {
 public:
  GpuBuffer(IGpu& gpu, Binding& binding) : gpu_(gpu), binding_(binding) {}

  Status resize(size_t bytes);
  void* device() const { return device_.get(); }
  char* host() const { return static_cast<char*>(host_.get()); }
  size_t size() const { return size_; }
  Binding& binding() const { return binding_; }

  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    return resize(size).ok() ? device() : nullptr;
  }
  void notifyShape(const char*, const nvinfer1::Dims& shape) noexcept override {
    binding_.dims = shape;
  }

 private:
  IGpu& gpu_;
  Binding& binding_;
  GpuOwned device_, host_;
  size_t size_ = 0, capacity_ = 0;
};

/// Memory for all tensors of a context, inputs filled.
class GpuBufferSet {
 public:
  static Result<std::unique_ptr<GpuBufferSet>> create(
      IGpu& gpu, const std::vector<std::unique_ptr<Binding>>& bindings);
  /// Makes the context read and write here.
  Status set_addresses(nvinfer1::IExecutionContext& context);
  Status copy_in(IGpu& gpu, cudaStream_t stream);
  Status copy_out(IGpu& gpu, cudaStream_t stream);
  /// The results of copy_out() go to the bindings.
  Status give_outputs();

 private:
  std::vector<std::unique_ptr<GpuBuffer>> buffers_;
};

}  // namespace tenon::tools
