#pragma once

#include <optional>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "device/streams.h"
#include "kernels/constant_store.h"
#include "kernels/tactic.h"
#include "select/agreement.h"

namespace tenon {

/// Buffers with random contents to time kernels on, reused from problem to problem.
class Measurer {
 public:
  Measurer(Device& device, int threads);
  /// Time of one launch in milliseconds, as the runtime launches it, on a warm device.
  /// `sample` receives what the kernel computed; null for none.
  Result<double> time(const Problem& problem, const Kernel& kernel, int runs, Sample* sample);
  /// What the kernel computes from the same contents, in one launch.
  Result<Sample> sample(const Problem& problem, const Kernel& kernel);

 private:
  struct Launch {
    std::vector<void*> pointers;
    DeviceBuffer workspace;
    LaunchArguments arguments;
  };
  Result<Launch> bind(const Problem& problem, const Kernel& kernel);
  Status run_once(const Problem& problem, const Kernel& kernel, const Launch& launch,
                  Sample* sample);
  Result<void*> buffer(size_t slot, const Operand& operand);
  Result<void*> constant(const Operand& operand, bool used);
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
  ConstantStore constants_;
};

}  // namespace tenon
