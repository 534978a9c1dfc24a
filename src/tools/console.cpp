#include "tools/console.h"

#include <unistd.h>

#include <ctime>

#include "base/printable.h"

namespace tenon::tools {
namespace {

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%m/%d/%Y-%H:%M:%S", &parts);
  return text;
}

char letter(Severity severity) {
  return "FEWIV"[static_cast<int>(severity)];
}

}  // namespace

Console::Console(Severity threshold)
    : threshold_(threshold), on_terminal_(isatty(STDOUT_FILENO) != 0) {}

Console::~Console() {
  clear_progress();
}

void Console::write(Severity severity, std::string_view message) {
  if (severity > threshold_) return;
  const bool to_error = severity <= Severity::kWarning;
  const std::string line =
      fmt::format("[{}] [{}] {}\n", timestamp(), letter(severity), printable(message));
  const std::lock_guard lock(mutex_);
  erase_progress_line();
  std::fwrite(line.data(), 1, line.size(), to_error ? stderr : stdout);
  // Lines keep their order where both streams go to one file, and none is lost in a crash.
  if (!to_error) std::fflush(stdout);
}

void Console::plain(std::string_view text) {
  const std::string line = printable(text) + '\n';
  const std::lock_guard lock(mutex_);
  erase_progress_line();
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void Console::progress(std::string_view text) {
  if (!on_terminal_) return;
  const std::lock_guard lock(mutex_);
  erase_progress_line();
  if (text.empty()) return;
  const std::string line = printable(text);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  progress_shown_ = true;
}

void Console::erase_progress_line() {
  if (!progress_shown_) return;
  std::fputs("\r\x1b[K", stdout);
  progress_shown_ = false;
}

}  // namespace tenon::tools
