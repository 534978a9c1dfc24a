#pragma once

#include <fmt/format.h>

#include <atomic>
#include <type_traits>

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

  /// Reports the exception that is being handled, which ended a call of the API.
  void report_exception(const char* call) noexcept;
  /// f(), or `failed` with the exception reported that it ended by: for calls of the API, which may
  /// throw nothing.
  template <class F>
  std::invoke_result_t<F> guarded(const char* call, std::invoke_result_t<F> failed,
                                  F&& f) noexcept {
    try {
      return f();
    } catch (...) {
      report_exception(call);
    }
    return failed;
  }

  /// The same for calls that give nothing; false where it ended by an exception.
  template <class F> bool guarded_call(const char* call, F&& f) noexcept {
    return guarded(call, false, [&] {
      f();
      return true;
    });
  }

  nvinfer1::ILogger* logger() const { return logger_; }
  nvinfer1::IErrorRecorder* recorder() const { return recorder_; }
  /// Counts the reference.
  void set_recorder(nvinfer1::IErrorRecorder* recorder);
  ~Reporter() override { set_recorder(nullptr); }

 private:
  nvinfer1::ILogger* logger_;
  /// Engines and contexts of several threads report to it.
  std::atomic<nvinfer1::IErrorRecorder*> recorder_ = nullptr;
};

/// Whether it is one of `count` flags; reports it otherwise.
bool is_flag(Reporter& reporter, const char* method, int32_t flag, int32_t count);
/// The same for a set of flags.
bool are_flags(Reporter& reporter, const char* method, uint32_t flags, int32_t count);

}  // namespace tenon::network
