#pragma once

#include <map>
#include <mutex>
#include <string>

#include "NvInfer.h"
#include "tools/console.h"

namespace tenon::tools {

/// Shows how far a build is on the console's progress line, and stops it on Ctrl-C.
class BuildProgress final : public nvinfer1::IProgressMonitor {
 public:
  explicit BuildProgress(Console& console) : console_(console) {}

  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override;
  bool stepComplete(const char* phase, int32_t step) noexcept override;
  void phaseFinish(const char* phase) noexcept override;

 private:
  Console& console_;
  std::mutex mutex_;
  std::map<std::string, int32_t> steps_;
};

}  // namespace tenon::tools
