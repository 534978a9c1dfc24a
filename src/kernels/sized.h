#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "ir/graph.h"
#include "kernels/tactic.h"

namespace tenon {

/// A kernel with data-dependent shapes of results (nonzero, compress, unique, nms), made for one
/// set of operands. A run is measure(), which waits for the device, then write() into memory for
/// its results.
class SizedKernel {
 public:
  virtual ~SizedKernel() = default;
  /// The extents of all results. `workspace` has workspace_bytes() and stays until write().
  virtual Result<std::vector<Extents>> measure(std::span<const void* const> inputs, void* workspace,
                                               Queue queue) = 0;
  virtual Status write(std::span<const void* const> inputs, std::span<void* const> outputs,
                       void* workspace, Queue queue) = 0;
  virtual size_t workspace_bytes() const = 0;
};

/// Makes one, or says why there is none. The problem's outputs have types and no extents.
using MakeSizedKernel = Result<std::unique_ptr<SizedKernel>> (*)(const Problem& problem);

/// Those of NVIDIA GPUs, in libtenon_cuda.
Result<std::unique_ptr<SizedKernel>> make_cuda_sized_kernel(const Problem& problem);

}  // namespace tenon
