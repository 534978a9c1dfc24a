#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard.h"
#include "base/status.h"
#include "tools/api_logger.h"
#include "tools/commands/errors.h"
#include "tools/console.h"

namespace tenon::tools {

/// One run of a subcommand: its page, and how it ends. Where it ends with an error, the page closes
/// with the error's number, the place, and advice.
class Session {
 public:
  /// `command` as it is typed: "tenon build".
  explicit Session(std::string_view command);
  Session(const Session&) = delete;

  Console& console() { return console_; }
  /// For the library, which holds on to it as long as to what was made with it.
  nvinfer1::ILogger& logger() { return logger_; }
  /// From here on errors are of this stage.
  void enter(Stage stage) { stage_ = stage; }

  /// An error of the catalogue; the message names the fault and its place. Return it to end().
  template <class... Args>
  Error fail(ErrorId id, fmt::format_string<Args...> format, Args&&... args) {
    failed_ = id;
    return user_error(format, std::forward<Args>(args)...);
  }

  /// A line of the page.
  template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
    console_.plain(fmt::format(format, std::forward<Args>(args)...));
  }
  void heading(std::string_view text) { line("\n{}", bold(text)); }
  std::string bold(std::string_view text) const { return styled(Console::kBold, text); }
  std::string dim(std::string_view text) const { return styled(Console::kDim, text); }

  /// Prints the warnings that have come up since, as far as a page has room for them.
  void show_warnings();
  /// Prints the rest, and gives the exit status.
  int end(const Status& status);

 private:
  std::string styled(std::string_view style, std::string_view text) const;
  void show_error(const Error& error);

  std::string command_;
  Console console_;
  ApiLogger logger_{console_};
  Stage stage_ = Stage::kUsage;
  std::optional<ErrorId> failed_;
};

/// `work(session)` returns a Status; no exception leaves it. Gives the exit status.
template <class Work> int run_session(std::string_view command, Work&& work) {
  Session session(command);
  return session.end(guarded("", [&]() -> Status { return work(session); }));
}

}  // namespace tenon::tools
