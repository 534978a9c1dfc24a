#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace tenon::tools {

/// kLog: every message is a line of a log. kPage: warnings and errors are kept for the program to
/// show at their place on its page, and information is dropped unless the threshold is kVerbose.
enum class ConsoleStyle { kLog, kPage };

/// The log of a command line program: "[MM/DD/YYYY-HH:MM:SS] [I] text". Information goes to
/// standard output, warnings and errors to standard error. On a terminal a progress line stands
/// below the log and is cleared before each message. Thread-safe.
class Console final : public Logger {
 public:
  /// Messages less severe than `threshold` are dropped.
  explicit Console(Severity threshold = Severity::kInfo, ConsoleStyle style = ConsoleStyle::kLog);
  ~Console() override;

  void set_threshold(Severity threshold) { threshold_ = threshold; }
  /// Bold text and colors are welcome: a terminal, and no NO_COLOR in the environment.
  bool colored() const { return colored_; }

  void write(Severity severity, std::string_view message) override;
  /// A line without prefix, as the banner is. Bold and dim text may be marked by kBold, kDim and
  /// kPlain; other control characters are written out.
  void plain(std::string_view text);
  /// The same on standard error.
  void plain_error(std::string_view text);
  static constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kPlain = "\x1b[0m";
  /// A line that the user asked for with a flag: information in a log, plain on a page.
  template <class... Args> void requested(fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (style_ == ConsoleStyle::kLog)
      write(Severity::kInfo, text);
    else
      plain(text);
  }
  /// Replaces the progress line. Where standard output is not a terminal, a log has none, and a
  /// page a line of its own each ten seconds.
  void progress(std::string_view text);
  void clear_progress() { progress(""); }

  /// The messages that a page has kept since it was last asked, oldest first.
  std::vector<std::string> take_warnings();
  std::vector<std::string> take_errors();
  /// The first of these, for a message that says where it was; `otherwise` where there is none.
  std::string take_error(std::string_view otherwise);

 private:
  using Clock = std::chrono::steady_clock;
  void erase_progress_line();
  void print(std::string_view text, std::FILE* stream);
  /// Whether a page keeps it; with the lock held.
  bool keep(Severity severity, std::string_view message);

  std::mutex mutex_;
  Severity threshold_;
  ConsoleStyle style_;
  bool on_terminal_, colored_;
  bool progress_shown_ = false;
  Clock::time_point last_progress_ = Clock::now();
  std::vector<std::string> warnings_, errors_;
};

}  // namespace tenon::tools
