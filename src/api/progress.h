#pragma once

#include <chrono>
#include <functional>
#include <mutex>

#include "NvInfer.h"
#include "base/status.h"

namespace tenon::api {

/// Tells an IProgressMonitor, if there is one, how far a build is: three steps, the second of which
/// is a phase of its own with a step a layer. An error where the monitor stops the build.
class Progress {
 public:
  explicit Progress(nvinfer1::IProgressMonitor* monitor);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Status network_done() { return step(0); }
  /// For SelectOptions.
  std::function<bool(int, int)> for_kernels();
  Status kernels_done();
  /// For a StopScope around the build: what goes on for longer than a moment (the evaluation of a
  /// loop that does not end) is a phase of its own, and asks the monitor ten times a second. Empty
  /// where there is no monitor; from any thread.
  std::function<bool()> for_loops();

 private:
  using Clock = std::chrono::steady_clock;
  Status step(int number);
  bool stops_loops();
  nvinfer1::IProgressMonitor* monitor_;
  bool choosing_ = false;
  std::mutex loops_mutex_;
  Clock::time_point asked_ = {};  ///< When loops last did; nothing: they never did.
  int loop_steps_ = -1;           ///< Of their phase; -1: it has not begun.
};

}  // namespace tenon::api
