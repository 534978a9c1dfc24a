#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "lower/step_list.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// A kernel for an if, loop or scan of which all extents are known: its bodies are programs, and
/// states stay on the device. Where the branch or the number of iterations is data, a small copy
/// reads it back, so that such a run cannot be captured into a graph; others can.
class ControlKernel : public Kernel {
 public:
  /// Addresses that a run keeps in memory of the caller's, so that it allocates none.
  virtual size_t scratch_count() const = 0;
  virtual Status run_in(const LaunchArguments& arguments, std::span<void*> scratch) const = 0;
  Status run(const LaunchArguments& arguments) const final {
    std::vector<void*> scratch(scratch_count());
    return run_in(arguments, scratch);
  }
  /// The steps of the bodies; a body that never runs has an empty list.
  virtual std::vector<StepList> bodies() const = 0;
};

Result<std::unique_ptr<ControlKernel>> make_control_kernel(const Backend& backend,
                                                           ConstantStore& constants,
                                                           const ConcreteGraph& graph,
                                                           const Node& node, int threads);

/// One element of a bool or i64 scalar, waited for. An error, and no harm done, while the queue's
/// work is being captured. `node` is who asks.
Result<int64_t> read_back(Device& device, const Node& node, DataType type, const void* address,
                          Queue queue);

}  // namespace tenon
