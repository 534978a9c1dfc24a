#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tools/commands/command_line.h"

namespace tenon::tools {

/// The user's own command that tells whether a plan is good enough, with the flags that
/// Polygraphy's `debug` has for it.
class CheckCommand {
 public:
  /// Of --check and its siblings; nothing where there is no --check.
  static Result<std::optional<CheckCommand>> parse(Session& session, const CommandLine& line);

  /// Runs it, by the shell. Its output is printed where it fails, or as the flags say.
  Result<bool> passes(Session& session) const;

 private:
  bool is_failure(int status, const std::string& output) const;

  std::string command_;
  std::vector<int> fail_codes_, ignored_codes_;
  std::optional<std::regex> fail_regex_;
  bool shows_all_ = false, hides_failures_ = false;
};

}  // namespace tenon::tools
