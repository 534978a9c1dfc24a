#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "NvInfer.h"
#include "base/log.h"
#include "base/status.h"
#include "kernels/backend.h"

namespace tenon::api {

/// A build of a plan for all GPUs from one compute capability on, where the configuration asks for
/// one (kAMPERE_PLUS): its device, and the report of its cost.
class FamilyBuild {
 public:
  /// Makes the backend's device stand for the family. Before anything is made for it.
  Status prepare(const nvinfer1::IBuilderConfig& config, Backend& backend, Logger& logger);
  /// For SelectOptions::left_out; null where the plan is for one kind of GPU.
  std::function<void(std::string_view layer)> listener();
  /// Says for which layers the device has kernels that were left out.
  void report(const Backend& backend, Logger& logger);

 private:
  bool active_ = false;
  std::mutex mutex_;
  std::set<std::string, std::less<>> left_out_;
};

}  // namespace tenon::api
