#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace tenon {

class Streams;
namespace cpu {
class ThreadPool;
}

enum class DeviceKind : uint8_t { kCpu, kCuda };

/// Facts about a device that decide which kernels fit and how fast they are; part of every
/// timing-cache key.
struct DeviceProperties {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;            ///< "AMD EPYC ...", "NVIDIA H200".
  std::string architecture;    ///< "x86-64 avx512_bf16", "sm_90".
  std::string libraries;       ///< Versions of driver and libraries that kernels come from.
  int compute_units = 1;       ///< Threads in use, or multiprocessors.
  int compute_capability = 0;  ///< 90 for sm_90; 0 on a CPU.
  size_t memory_bytes = 0;
  size_t shared_memory_per_block = 0;
  size_t cache_bytes = 0;  ///< Of the cache that all multiprocessors share; 0: not known.
  bool native_bf16 = false;
  bool native_fp16 = false;
};

/// Further facts for reports; empty or 0 where it is not known.
struct DeviceFacts {
  std::vector<std::string> all;  ///< Names of all devices of the kind.
  int index = 0;                 ///< Of this one among them.
  std::string uuid;
  size_t shared_memory_per_multiprocessor = 0;
  int memory_bus_bits = 0;
  bool corrects_memory = false;  ///< ECC is on.
  double clock_ghz = 0, memory_clock_ghz = 0;
};

/// Differences between kinds of devices that code for any of them asks about.
struct Capabilities {
  bool host_addresses;  ///< Host pointers are device pointers.
  bool host_cores;      ///< Kernels run on the host's cores: what else runs there slows them down.
  /// A launch returns when its kernel has ended. Else kernels run behind the host, and one may
  /// start before the one ahead has ended.
  bool waits_for_kernels;
  /// Kernels take long to make, since their code is compiled or libraries propose them: many are
  /// made at a time, and lists of proposals are kept.
  bool compiles_kernels;
  bool packs_constants;        ///< Plans hold constants in the form that kernels read.
  bool replays_launches;       ///< Launches of many kernels are recorded and replayed as one.
  uintptr_t operand_multiple;  ///< Bytes that addresses of inputs and outputs are multiples of.
};
inline constexpr Capabilities kCpuCapabilities{.host_addresses = true,
                                               .host_cores = true,
                                               .waits_for_kernels = true,
                                               .compiles_kernels = false,
                                               .packs_constants = true,
                                               .replays_launches = false,
                                               .operand_multiple = 1};
inline constexpr Capabilities kCudaCapabilities{.host_addresses = false,
                                                .host_cores = false,
                                                .waits_for_kernels = false,
                                                .compiles_kernels = true,
                                                .packs_constants = false,
                                                .replays_launches = true,
                                                .operand_multiple = 16};

/// Memory of a device, freed with its owner.
using DeviceBuffer = std::unique_ptr<void, std::function<void(void*)>>;

/// Where a kernel is launched: the thread pool of a CPU context, or a CUDA stream. Launches on one
/// queue run in order.
struct Queue {
  cpu::ThreadPool* pool = nullptr;  ///< CPU.
  void* stream = nullptr;           ///< CUDA: a cudaStream_t.
};

/// A place that plans run on. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  virtual DeviceFacts facts() const { return {}; }
  /// 256-byte aligned; 0 bytes give a valid pointer.
  virtual Result<DeviceBuffer> allocate(size_t bytes) = 0;
  virtual Status upload(void* device, const void* host, size_t bytes, Queue queue) = 0;
  virtual Status download(void* host, const void* device, size_t bytes, Queue queue) = 0;
  virtual Status copy(void* to, const void* from, size_t bytes, Queue queue) = 0;
  virtual Status synchronize(Queue queue) = 0;
  virtual const Capabilities& capabilities() const = 0;
  /// Makes the device the calling thread's; before kernels are made or run on a thread.
  virtual Status activate() { return {}; }
  /// Streams, events and so on; null on a device where launches are synchronous.
  virtual Streams* streams() { return nullptr; }
  /// Launches behind a fence begin when all that is ahead of it has ended, also those that may
  /// start early. prepare_fence() comes before the first one.
  virtual Status prepare_fence() { return {}; }
  virtual Status fence(Queue /*queue*/) { return {}; }
  /// Milliseconds of `launch` on a warm device, `repeats` times or more: the median, on a host the
  /// least. Where streams exist, `launch` puts work on the queue's, which is not the default one.
  virtual Result<double> time(Queue queue, int repeats, const std::function<Status()>& launch) = 0;
};

}  // namespace tenon
