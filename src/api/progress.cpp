#include "api/progress.h"

namespace tenon::api {
namespace {

constexpr const char* kBuild = "Building the plan";
constexpr const char* kKernels = "Choosing kernels";
constexpr const char* kLoops = "Evaluating loops";
constexpr std::chrono::milliseconds kMoment{100};
/// Nobody asks as long after the last time in the same loop.
constexpr std::chrono::seconds kPause{1};

}  // namespace

Progress::Progress(nvinfer1::IProgressMonitor* monitor) : monitor_(monitor) {
  if (monitor_ != nullptr) monitor_->phaseStart(kBuild, nullptr, 2);
}

Progress::~Progress() {
  if (monitor_ == nullptr) return;
  if (loop_steps_ >= 0) monitor_->phaseFinish(kLoops);
  if (choosing_) monitor_->phaseFinish(kKernels);
  monitor_->phaseFinish(kBuild);
}

std::function<bool()> Progress::for_loops() {
  if (monitor_ == nullptr) return {};
  return [this] { return stops_loops(); };
}

bool Progress::stops_loops() {
  const std::lock_guard lock(loops_mutex_);
  const Clock::time_point now = Clock::now();
  const auto since = now - asked_;
  if (since < kMoment) return false;
  asked_ = now;
  // Another loop, which may be short.
  if (since > kPause) return false;
  if (loop_steps_ < 0) monitor_->phaseStart(kLoops, kBuild, INT32_MAX);
  return !monitor_->stepComplete(kLoops, ++loop_steps_);
}

Status Progress::step(int number) {
  if (monitor_ == nullptr || monitor_->stepComplete(kBuild, number)) return {};
  return user_error("the progress monitor stopped the build");
}

std::function<bool(int, int)> Progress::for_kernels() {
  if (monitor_ == nullptr) return {};
  return [this](int step, int steps) {
    if (!choosing_) monitor_->phaseStart(kKernels, kBuild, steps);
    choosing_ = true;
    return monitor_->stepComplete(kKernels, step);
  };
}

Status Progress::kernels_done() {
  if (choosing_) monitor_->phaseFinish(kKernels);
  choosing_ = false;
  return step(1);
}

}  // namespace tenon::api
