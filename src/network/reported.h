#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "network/report.h"
#include "surface/implementation.h"

namespace tenon::network {

/// An object of the API whose messages and errors go to a Reporter.
template <class Interface> class Reported : public surface::Implementation<Interface> {
 public:
  explicit Reported(std::shared_ptr<Reporter> reporter) : reporter_(std::move(reporter)) {}

  Reporter& reporter() const { return *reporter_; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_->set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_->recorder();
  }

 protected:
  std::shared_ptr<Reporter> reporter_;
};

/// One that works on threads of the CPU, too.
template <class Interface> class Threaded : public Reported<Interface> {
 public:
  using Reported<Interface>::Reported;

  nvinfer1::ILogger* getLogger() const noexcept override { return this->reporter_->logger(); }
  bool setMaxThreads(int32_t count) noexcept override {
    if (count >= 1)
      max_threads_ = count;
    else
      this->reporter_->report(user_error("setMaxThreads({}): at least 1 thread computes", count));
    return count >= 1;
  }
  int32_t getMaxThreads() const noexcept override { return std::max(max_threads_, 1); }

 protected:
  int32_t max_threads_ = 0;  ///< 0: not set, which means all of the CPU's cores.
};

}  // namespace tenon::network
