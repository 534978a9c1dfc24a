#pragma once

#include <fmt/format.h>

#include <string_view>

namespace tenon {

/// Ordered from most to least severe, with the numeric values of nvinfer1::ILogger::Severity.
enum class Severity { kInternalError = 0, kError = 1, kWarning = 2, kInfo = 3, kVerbose = 4 };

/// Where messages go. Implementations must be thread-safe.
class Logger {
 public:
  virtual ~Logger() = default;
  virtual void write(Severity severity, std::string_view message) = 0;

  template <class... Args> void error(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kError, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args> void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args> void info(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args> void verbose(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kVerbose, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// Drops every message.
class NullLogger final : public Logger {
 public:
  void write(Severity, std::string_view) override {}
};

}  // namespace tenon
