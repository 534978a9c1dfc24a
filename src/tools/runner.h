#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "NvInfer.h"
#include "base/status.h"
#include "tenon/device.h"
#include "tools/bindings.h"
#include "tools/statistics.h"

namespace tenon::tools {

/// Milliseconds since it was made.
class Clock {
 public:
  double now() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One context with its buffers, running queries one after the other. A GPU's overlaps them; a
/// CPU's does not.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Starts a query. Times of queries that have ended since are appended to `done`.
  virtual Status query(const Clock& clock, std::vector<QueryTimes>& done) = 0;
  /// Waits for all queries that were started.
  virtual Status finish(std::vector<QueryTimes>& done) = 0;

  /// Profilers that were told to wait for it record from here on, or no longer.
  virtual void profile(bool /*on*/) {}

  virtual nvinfer1::IExecutionContext& context() = 0;
  virtual const std::vector<std::unique_ptr<Binding>>& bindings() const = 0;
};

/// Runs on the CPU: buffers are in host memory, and a query has ended when the call returns.
Result<std::unique_ptr<Runner>> make_cpu_runner(
    nvinfer1::ICudaEngine& engine, const BindingRequest& request,
    nvinfer1::ExecutionContextAllocationStrategy strategy, Logger& log);

/// How a GPU's queries go.
struct GpuSettings {
  int32_t device = kDefaultDevice;
  bool transfers = true;   ///< Inputs and outputs are copied for each query.
  bool overlap = true;     ///< A query's copies run beside the computation of its neighbours.
  bool graph = false;      ///< Queries replay a captured graph.
  bool replays = true;     ///< Without one, the context may replay runs by itself.
  bool spin_wait = false;  ///< Waiting threads do not sleep.
};

/// Runs on a GPU with three streams: copies in, computation, copies out.
Result<std::unique_ptr<Runner>> make_gpu_runner(
    nvinfer1::ICudaEngine& engine, const BindingRequest& request,
    nvinfer1::ExecutionContextAllocationStrategy strategy, const GpuSettings& settings,
    Logger& log);

}  // namespace tenon::tools
