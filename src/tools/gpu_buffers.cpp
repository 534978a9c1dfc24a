#include "tools/gpu_buffers.h"

#include <algorithm>
#include <cstring>

#include "tools/tensor_words.h"

namespace tenon::tools {

Status GpuBuffer::resize(size_t bytes) {
  size_ = bytes;
  if (bytes <= capacity_ && device_.get() != nullptr) return {};
  device_ = GpuOwned(gpu_, gpu_.allocate(bytes));
  host_ = GpuOwned(gpu_, gpu_.allocatePinned(bytes));
  if (device_.get() == nullptr || host_.get() == nullptr)
    return resource_error("there are no {} bytes for '{}'", bytes, binding_.name);
  capacity_ = bytes;
  return {};
}

Result<std::unique_ptr<GpuBufferSet>> GpuBufferSet::create(
    IGpu& gpu, const std::vector<std::unique_ptr<Binding>>& bindings) {
  auto set = std::make_unique<GpuBufferSet>();
  for (const auto& binding : bindings) {
    auto buffer = std::make_unique<GpuBuffer>(gpu, *binding);
    TENON_TRY(buffer->resize(binding->memory.size()));
    if (binding->is_input) std::memcpy(buffer->host(), binding->memory.data(), buffer->size());
    set->buffers_.push_back(std::move(buffer));
  }
  TENON_TRY(set->copy_in(gpu, nullptr));
  if (!gpu.synchronize(cudaStream_t{})) return internal_error("the inputs could not be copied");
  return set;
}

Status GpuBufferSet::set_addresses(nvinfer1::IExecutionContext& context) {
  for (const auto& buffer : buffers_) {
    const std::string& name = buffer->binding().name;
    const bool dynamic =
        !buffer->binding().is_input && volume(context.getTensorShape(name.c_str())) < 0;
    if (dynamic ? !context.setOutputAllocator(name.c_str(), buffer.get())
                : !context.setTensorAddress(name.c_str(), buffer->device()))
      return internal_error("the address of '{}' was not accepted", name);
  }
  return {};
}

Status GpuBufferSet::copy_in(IGpu& gpu, cudaStream_t stream) {
  for (const auto& buffer : buffers_)
    if (buffer->binding().is_input &&
        !gpu.copyAsync(buffer->device(), buffer->host(), buffer->size(), stream))
      return internal_error("input '{}' could not be copied", buffer->binding().name);
  return {};
}

Status GpuBufferSet::copy_out(IGpu& gpu, cudaStream_t stream) {
  for (const auto& buffer : buffers_)
    if (!buffer->binding().is_input &&
        !gpu.copyAsync(buffer->host(), buffer->device(), buffer->size(), stream))
      return internal_error("output '{}' could not be copied", buffer->binding().name);
  return {};
}

Status GpuBufferSet::give_outputs() {
  for (const auto& buffer : buffers_) {
    Binding& binding = buffer->binding();
    if (binding.is_input) continue;
    if (!binding.memory.resize(buffer->size()))
      return resource_error("there are no {} bytes for '{}'", buffer->size(), binding.name);
    std::memcpy(binding.memory.data(), buffer->host(), buffer->size());
  }
  return {};
}

}  // namespace tenon::tools
