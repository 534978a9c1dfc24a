#pragma once

#include <optional>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "device/streams.h"
#include "kernels/tactic.h"

namespace tenon {

/// Buffers with random contents to time kernels on, reused from problem to problem.
class Measurer {
 public:
  Measurer(Device& device, int threads);
  /// Time of one launch in milliseconds, as the runtime launches it, on a warm device.
  Result<double> time(const Problem& problem, const Kernel& kernel, int runs);

 private:
  Result<void*> buffer(size_t slot, const Operand& operand);
  Result<Queue> queue();
  Status wake(const std::function<Status()>& launch, Queue where);

  struct Slot {
    DeviceBuffer memory;
    size_t bytes = 0;
    std::optional<DataType> contents;  ///< Random numbers of that type.
  };
  Device& device_;
  cpu::ThreadPool pool_;
  DeviceHandle stream_;
  bool awake_ = false;
  std::vector<Slot> slots_;
};

}  // namespace tenon
