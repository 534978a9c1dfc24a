#pragma once

#include <map>
#include <mutex>
#include <string>

#include "NvInfer.h"
#include "tenon/progress.h"
#include "tools/console.h"

namespace tenon::tools {

/// Stops a build on Ctrl-C and, where it is to be seen, shows on the console's progress line how
/// far it is, and how much longer it takes.
class BuildProgress final : public nvinfer1::IProgressMonitor, public IBuildObserver {
 public:
  BuildProgress(Console& console, bool shown) : console_(console), shown_(shown) {}

  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override;
  bool stepComplete(const char* phase, int32_t step) noexcept override;
  void phaseFinish(const char* phase) noexcept override;
  void progress(const BuildState& state) noexcept override;
  void stepEnded(BuildStep, double, const char*) noexcept override {}

 private:
  Console& console_;
  const bool shown_;
  std::mutex mutex_;
  std::map<std::string, int32_t> steps_;
  double remaining_ = -1;
};

}  // namespace tenon::tools
