#pragma once

#include <fmt/format.h>

#include <atomic>

#include "NvInferRuntime.h"
#include "base/log.h"
#include "base/status.h"

namespace tenon::network {

/// Hands messages to the application's logger, and errors also to its recorder when it has set one.
class Reporter final : public Logger {
 public:
  explicit Reporter(nvinfer1::ILogger* logger) : logger_(logger) {}

  void write(Severity severity, std::string_view message) override;
  /// Logs the error and records it.
  void report(const Error& error);

  nvinfer1::ILogger* logger() const { return logger_; }
  nvinfer1::IErrorRecorder* recorder() const { return recorder_; }
  /// Counts the reference.
  void set_recorder(nvinfer1::IErrorRecorder* recorder);
  ~Reporter() override { set_recorder(nullptr); }

 private:
  nvinfer1::ILogger* logger_;
  nvinfer1::IErrorRecorder* recorder_ = nullptr;
};

}  // namespace tenon::network
