#pragma once

#include "NvInferRuntime.h"

namespace tenon::plugin {

/// Held by builders, runtimes and refitters: as long as one lives, its logger also takes the
/// messages of the registry and of plugins, which have none of their own. Allocates nothing.
class LoggerLease {
 public:
  explicit LoggerLease(nvinfer1::ILogger& logger);
  ~LoggerLease();
  LoggerLease(const LoggerLease&) = delete;
  LoggerLease& operator=(const LoggerLease&) = delete;

 private:
  friend nvinfer1::ILogger* first_logger() noexcept;
  nvinfer1::ILogger& logger_;
  LoggerLease *older_ = nullptr, *newer_ = nullptr;
};

/// The logger of the oldest lease, or null. Thread-safe.
nvinfer1::ILogger* first_logger() noexcept;

}  // namespace tenon::plugin
