#include "kernels/plugin/resources.h"

namespace tenon {

std::shared_ptr<plugin::Communication> communication_of(Attachments& attachments) {
  std::shared_ptr<void>& kept = attachments.of(Operation());
  if (kept == nullptr) kept = std::make_shared<plugin::Communication>();
  return std::static_pointer_cast<plugin::Communication>(kept);
}

void* PluginResources::allocate(uint64_t size, uint64_t alignment,
                                nvinfer1::AllocatorFlags) noexcept {
  constexpr uint64_t kAlignment = 256;  // Of all that a device gives.
  if (size == 0 || alignment > kAlignment || (alignment & (alignment - 1)) != 0) return nullptr;
  Result<DeviceBuffer> buffer =
      constants_ != nullptr ? constants_->memory(size) : device_.allocate(size);
  if (!buffer.ok()) return nullptr;
  void* memory = buffer->get();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(memory, std::move(*buffer));
  return memory;
}

bool PluginResources::deallocate(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  return memory == nullptr || buffers_.erase(memory) == 1;
}

}  // namespace tenon
