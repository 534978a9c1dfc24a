#include "kernels/constant_store.h"

namespace tenon {

ConstantStore::ConstantStore(Device& device, MemorySource memory)
    : device_(device), memory_(std::move(memory)) {
  if (!memory_) memory_ = [&device](size_t bytes) { return device.allocate(bytes); };
}

Result<const void*> ConstantStore::find(const Tensor& tensor, Queue queue) {
  if (!tensor.defined())
    return user_error("the plan leaves out a constant that a kernel reads; build it again");
  if (device_.unified()) return static_cast<const void*>(tensor.bytes());
  const std::lock_guard lock(mutex_);
  DeviceBuffer& copy = copies_[tensor.bytes()];
  if (copy == nullptr) {
    const auto bytes = static_cast<size_t>(tensor.byte_count());
    TENON_ASSIGN(DeviceBuffer fresh, memory_(bytes));
    TENON_TRY(device_.upload(fresh.get(), tensor.bytes(), bytes, queue));
    TENON_TRY(device_.synchronize(queue));
    copy = std::move(fresh);
  }
  return static_cast<const void*>(copy.get());
}

void ConstantStore::clear() {
  const std::lock_guard lock(mutex_);
  copies_.clear();
}

}  // namespace tenon
