#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/status.h"

namespace tenon::cuda {

/// Blocks, threads and options of a launch.
struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;  ///< Dynamic; above 48 KiB call Function::allow_shared() first.
  unsigned cluster_x = 0;     ///< Blocks of a cluster; 0: none.
  bool cooperative = false;   ///< All blocks run at a time, or the launch fails.
  /// The kernel may start before the one ahead of it in the stream has ended (sm_90 and newer). It
  /// must execute `griddepcontrol.wait` (begin_kernel() in kernels/jit/prelude.cuh) in every
  /// thread before it touches memory that other kernels write or read.
  bool overlaps_previous = false;
  bool operator==(const LaunchShape&) const = default;
};

/// A kernel of a loaded Module, which must outlive it.
class Function {
 public:
  Function() = default;
  explicit Function(CUfunction handle) : handle_(handle) {}
  CUfunction handle() const { return handle_; }

  /// Allows that many bytes of dynamic shared memory.
  Status allow_shared(int bytes) const;
  /// Allows clusters of more than 8 blocks; fails where the GPU has no place for such a launch.
  Status allow_large_clusters(const LaunchShape& shape) const;
  Result<int> attribute(CUfunction_attribute which) const;

  /// Arguments must have exactly the types of the kernel's parameters: `void*`, `int`, a struct.
  /// Neither allocates nor waits.
  template <class... Arguments>
  Status launch(const LaunchShape& shape, void* stream, const Arguments&... arguments) const {
    const void* addresses[] = {&arguments..., nullptr};
    return launch_addresses(shape, stream, addresses);
  }
  /// With the address of each argument.
  Status launch_addresses(const LaunchShape& shape, void* stream, const void** addresses) const;

 private:
  CUfunction handle_ = nullptr;
};

/// Loaded device code.
class Module {
 public:
  /// `binary` as compile_device_code() gives it; PTX ends in a zero. The device must be current.
  static Result<std::shared_ptr<const Module>> load(std::string_view binary);
  ~Module();
  Module(const Module&) = delete;

  Result<Function> function(const char* name) const;
  /// The function "kernel", which may take so many bytes of dynamic shared memory. Asked for again
  /// it takes no call of the driver.
  Result<Function> kernel(unsigned shared_bytes) const;
  /// Where a variable of the code lies; null where it has none of that name.
  void* variable(const char* name) const;

 private:
  Module(CUmodule handle, CUcontext context) : handle_(handle), context_(context) {}
  CUmodule handle_;
  CUcontext context_;
  mutable std::atomic<CUfunction> kernel_ = nullptr;
  mutable std::atomic<unsigned> allowed_shared_ = 48 * 1024;  ///< Without permission.
  mutable std::mutex allowing_;
};

}  // namespace tenon::cuda
