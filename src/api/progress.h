#pragma once

#include <functional>

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

 private:
  Status step(int number);
  nvinfer1::IProgressMonitor* monitor_;
  bool choosing_ = false;
};

}  // namespace tenon::api
