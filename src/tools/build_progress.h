#pragma once

#include <map>
#include <mutex>
#include <string>

#include "NvInfer.h"
#include "tools/console.h"

namespace tenon::tools {

/// Stops a build on Ctrl-C and, where it is to be seen, shows how far it is on the console's
/// progress line.
class BuildProgress final : public nvinfer1::IProgressMonitor {
 public:
  BuildProgress(Console& console, bool shown) : console_(console), shown_(shown) {}

  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override;
  bool stepComplete(const char* phase, int32_t step) noexcept override;
  void phaseFinish(const char* phase) noexcept override;

 private:
  Console& console_;
  const bool shown_;
  std::mutex mutex_;
  std::map<std::string, int32_t> steps_;
};

}  // namespace tenon::tools
