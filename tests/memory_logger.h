#pragma once

#include <string>

#include "base/log.h"

namespace tenon {

/// Keeps warnings and errors, a line each.
class MemoryLogger final : public Logger {
 public:
  void write(Severity severity, std::string_view message) override {
    if (severity <= Severity::kWarning) text += std::string(message) + "\n";
  }
  std::string text;
};

}  // namespace tenon
