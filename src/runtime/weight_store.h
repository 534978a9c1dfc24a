#pragma once

#include <cstddef>
#include <memory>

#include "device/device.h"
#include "ir/tensor.h"
#include "kernels/constant_store.h"

namespace tenon {

/// The weights of an engine that streams some of them: page-locked on the host, or on the device as
/// far as a budget goes. Weights that are there stay, for all programs. Thread-safe.
class WeightStore {
 public:
  /// Weights of fewer bytes are always on the device: to wait for their copy would take longer than
  /// the copy.
  static constexpr size_t kLeastBytes = size_t{64} << 10;

  /// `memory`: of the device; empty: its own. The device must outlive the store.
  WeightStore(Device& device, MemorySource memory, size_t budget);

  /// For constants that kernels keep: page-locked memory of the host from kLeastBytes on. Kernels
  /// can read it as it is, over the link. May outlive the store.
  MemorySource kernel_memory() const;
  /// It gave this block, on the host.
  bool is_on_host(const void* block) const;

  /// Bytes of the budget that nothing takes.
  size_t left() const;
  /// The copy on the device of a tensor's bytes, or of a block on the host; null: there is none.
  const void* find(const void* source) const;
  /// Makes it, complete on return, whatever the budget.
  Result<const void*> keep(const Tensor& tensor);
  Result<const void*> keep(const void* block, size_t bytes);
  /// A page-locked copy of a tensor.
  Result<const void*> pin(const Tensor& tensor);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenon
