#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/status.h"
#include "device/device.h"
#include "ir/tensor.h"

namespace tenon {

/// Gives memory of the device, aligned to 256 bytes.
using MemorySource = std::function<Result<DeviceBuffer>(size_t bytes)>;

/// Constants where a device sees them: copies that are made once, or, where host memory is device
/// memory, the constants themselves. Thread-safe but for clear(). The device must outlive it.
class ConstantStore {
 public:
  /// Without a source of memory, the device's own is taken.
  explicit ConstantStore(Device& device, MemorySource memory = {});
  /// The copy is complete on return; `queue` is where it is made.
  Result<const void*> find(const Tensor& tensor, Queue queue = {});
  /// Forgets all copies; nothing may be running.
  void clear();

 private:
  Device& device_;
  MemorySource memory_;
  std::mutex mutex_;
  std::unordered_map<const std::byte*, DeviceBuffer> copies_;
};

}  // namespace tenon
