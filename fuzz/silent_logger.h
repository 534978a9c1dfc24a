#pragma once

#include "NvInfer.h"

/// Millions of runs would say the same few things.
class SilentLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity, const char*) noexcept override {}
};
