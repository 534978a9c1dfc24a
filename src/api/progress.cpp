#include "api/progress.h"

namespace tenon::api {
namespace {

constexpr const char* kBuild = "Building the plan";
constexpr const char* kKernels = "Choosing kernels";

}  // namespace

Progress::Progress(nvinfer1::IProgressMonitor* monitor) : monitor_(monitor) {
  if (monitor_ != nullptr) monitor_->phaseStart(kBuild, nullptr, 2);
}

Progress::~Progress() {
  if (monitor_ == nullptr) return;
  if (choosing_) monitor_->phaseFinish(kKernels);
  monitor_->phaseFinish(kBuild);
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
