#include "runtime/weight_store.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "device/streams.h"

namespace tenon {

struct WeightStore::State {
  State(Device& where, MemorySource source, size_t bytes)
      : device(where), memory(std::move(source)), budget(bytes) {
    if (!memory) memory = [&where](size_t count) { return where.allocate(count); };
  }
  struct OnDevice {
    DeviceBuffer memory;
    size_t bytes = 0;
  };
  struct Pinned {
    Tensor tensor;  ///< So that its address means no other.
    DeviceHandle memory;
  };

  Status fill(DeviceBuffer& memory, const void* source, size_t bytes) const {
    TENON_TRY(device.upload(memory.get(), source, bytes, {}));
    return device.synchronize({});
  }
  Result<const void*> keep(const void* source, size_t bytes) {
    const std::lock_guard lock(mutex);
    if (const auto known = kept.find(source); known != kept.end())
      return static_cast<const void*>(known->second.memory.get());
    TENON_ASSIGN(DeviceBuffer copy, memory(bytes));
    TENON_TRY(fill(copy, source, bytes));
    const void* const address = copy.get();
    kept[source] = {std::move(copy), bytes};
    taken += bytes;
    return address;
  }
  /// The source's memory is free from now on.
  void forget(const void* source) {
    const std::lock_guard lock(mutex);
    blocks.erase(source);
    if (const auto known = kept.find(source); known != kept.end()) {
      taken -= known->second.bytes;
      kept.erase(known);
    }
  }

  Device& device;
  MemorySource memory;
  size_t budget = 0, taken = 0;
  mutable std::mutex mutex;
  std::map<const void*, OnDevice> kept;        ///< By the source's address.
  std::map<const void*, DeviceHandle> blocks;  ///< Of kernels, on the host.
  std::map<const void*, Tensor> tensors;       ///< Of `kept`.
  std::map<const void*, Pinned> pinned;
};

WeightStore::WeightStore(Device& device, MemorySource memory, size_t budget)
    : state_(std::make_shared<State>(device, std::move(memory), budget)) {}

MemorySource WeightStore::kernel_memory() const {
  return [state = state_](size_t bytes) -> Result<DeviceBuffer> {
    if (bytes < kLeastBytes) return state->memory(bytes);
    TENON_ASSIGN(DeviceHandle block, state->device.streams()->make_pinned(bytes));
    void* const address = block.get();
    const std::lock_guard lock(state->mutex);
    state->blocks[address] = std::move(block);
    return DeviceBuffer(address, [state](void* source) { state->forget(source); });
  };
}

bool WeightStore::is_on_host(const void* block) const {
  const std::lock_guard lock(state_->mutex);
  return state_->blocks.contains(block);
}

size_t WeightStore::left() const {
  const std::lock_guard lock(state_->mutex);
  return state_->budget - std::min(state_->budget, state_->taken);
}

const void* WeightStore::find(const void* source) const {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->kept.find(source);
  return known == state_->kept.end() ? nullptr : known->second.memory.get();
}

Result<const void*> WeightStore::keep(const Tensor& tensor) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->tensors[tensor.bytes()] = tensor;
  }
  return state_->keep(tensor.bytes(), static_cast<size_t>(tensor.byte_count()));
}

Result<const void*> WeightStore::keep(const void* block, size_t bytes) {
  return state_->keep(block, bytes);
}

Result<const void*> WeightStore::pin(const Tensor& tensor) {
  const std::lock_guard lock(state_->mutex);
  if (const auto known = state_->pinned.find(tensor.bytes()); known != state_->pinned.end())
    return static_cast<const void*>(known->second.memory.get());
  const auto bytes = static_cast<size_t>(tensor.byte_count());
  TENON_ASSIGN(DeviceHandle memory, state_->device.streams()->make_pinned(bytes));
  const void* const address = memory.get();
  std::memcpy(memory.get(), tensor.bytes(), bytes);
  state_->pinned[tensor.bytes()] = {tensor, std::move(memory)};
  return address;
}

}  // namespace tenon
