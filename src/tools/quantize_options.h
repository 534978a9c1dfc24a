#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tenon::tools {

/// The request to `tenon quantize`. Values follow a flag behind `=` or as words of their own.
class QuantizeArguments {
 public:
  static Result<QuantizeArguments> parse(std::span<const char* const> words);

  /// As given, several words joined by commas, else the default.
  std::string text(std::string_view flag) const;
  double number(std::string_view flag) const;
  bool wants_help() const { return help_; }
  /// Of flags without effect, with the reason.
  const std::vector<std::string>& remarks() const { return remarks_; }
  static std::string help();

 private:
  std::map<std::string, std::string, std::less<>> given_;
  std::vector<std::string> remarks_;
  bool help_ = false;
};

}  // namespace tenon::tools
