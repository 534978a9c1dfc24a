#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"

namespace tenon::tools {

/// The log of a command line program: "[MM/DD/YYYY-HH:MM:SS] [I] text". Information goes to
/// standard output, warnings and errors to standard error. On a terminal a progress line stands
/// below the log and is cleared before each message.
class Console final : public Logger {
 public:
  /// Messages less severe than `threshold` are dropped.
  explicit Console(Severity threshold = Severity::kInfo);
  ~Console() override;

  void set_threshold(Severity threshold) { threshold_ = threshold; }

  void write(Severity severity, std::string_view message) override;
  /// A line without prefix, as the banner is.
  void plain(std::string_view text);
  /// Replaces the progress line; does nothing where standard output is not a terminal.
  void progress(std::string_view text);
  void clear_progress() { progress(""); }

 private:
  void erase_progress_line();

  std::mutex mutex_;
  Severity threshold_;
  bool on_terminal_;
  bool progress_shown_ = false;
};

}  // namespace tenon::tools
