#pragma once

#include "NvInfer.h"
#include "tools/console.h"

namespace tenon::tools {

/// Passes the library's messages on to the console, marked as the library's.
class ApiLogger final : public nvinfer1::ILogger {
 public:
  explicit ApiLogger(Console& console) : console_(console) {}

  void log(Severity severity, const nvinfer1::AsciiChar* message) noexcept override {
    console_.write(static_cast<tenon::Severity>(severity), fmt::format("[TRT] {}", message));
  }

 private:
  Console& console_;
};

}  // namespace tenon::tools
