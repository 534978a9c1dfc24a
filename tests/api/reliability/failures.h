#pragma once

#include <NvInfer.h>

#include <atomic>
#include <functional>
#include <string>

namespace reliability {

/// Counts errors, without memory of its own.
class Errors final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char*) noexcept override {
    count += severity <= Severity::kERROR;
  }
  std::atomic<int> count = 0;
};

/// Counts what is recorded, without memory of its own.
class CountingRecorder final : public nvinfer1::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return count; }
  nvinfer1::ErrorCode getErrorCode(int32_t) const noexcept override {
    return nvinfer1::ErrorCode::kUNSPECIFIED_ERROR;
  }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return ""; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { count = 0; }
  bool reportError(nvinfer1::ErrorCode, ErrorDesc) noexcept override {
    ++count;
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::atomic<int32_t> count = 0, references = 0;
};

/// f() with each of its allocations failing in turn: true, where the allocation was one that may be
/// done without, or else false with an error in the log and, unless null, in the recorder; nothing
/// is left behind unless it may leak, and at the end f() is true again.
void expect_errors(const std::string& name, Errors& log, CountingRecorder* recorder,
                   const std::function<bool()>& f, bool may_leak = false);

}  // namespace reliability
