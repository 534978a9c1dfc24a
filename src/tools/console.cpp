#include "tools/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/environment.h"
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

/// Between two lines of progress where they cannot replace each other.
constexpr std::chrono::seconds kProgressEvery{10};

char letter(Severity severity) {
  return "FEWIV"[static_cast<int>(severity)];
}

/// A line that is longer than the terminal is wide could not be erased again.
std::string fitted(std::string text) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return text;
  return std::string(first_letters(text, size.ws_col - 1U));
}

/// Names from models cannot reach the terminal, the styles of a page can.
std::string printable_with_styles(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::string_view style;
    for (const std::string_view known : {Console::kBold, Console::kDim, Console::kPlain})
      if (text.starts_with(known)) style = known;
    const size_t next = std::min(text.find('\x1b', 1), text.size());
    result += style.empty() ? printable(text.substr(0, next)) : std::string(style);
    text.remove_prefix(style.empty() ? next : style.size());
  }
  return result;
}

}  // namespace

Console::Console(Severity threshold, ConsoleStyle style)
    : threshold_(threshold),
      style_(style),
      on_terminal_(isatty(STDOUT_FILENO) != 0),
      colored_(on_terminal_ && wants_colors()) {}

Console::~Console() {
  clear_progress();
}

bool Console::keep(Severity severity, std::string_view message) {
  if (style_ == ConsoleStyle::kLog || severity > Severity::kWarning) return false;
  for (const std::string_view mark : {"[TRT] ", "* "})
    if (message.starts_with(mark)) message.remove_prefix(mark.size());
  auto& kept = severity == Severity::kWarning ? warnings_ : errors_;
  std::string text = printable(message);
  if (std::ranges::find(kept, text) == kept.end()) kept.push_back(std::move(text));
  return true;
}

std::vector<std::string> Console::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

std::vector<std::string> Console::take_errors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(errors_, {});
}

std::string Console::take_error(std::string_view otherwise) {
  const std::vector<std::string> errors = take_errors();
  return errors.empty() ? std::string(otherwise) : errors.front();
}

void Console::write(Severity severity, std::string_view message) {
  if (const std::lock_guard lock(mutex_); keep(severity, message)) return;
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
  print(text, stdout);
}

void Console::plain_error(std::string_view text) {
  std::fflush(stdout);
  print(text, stderr);
}

void Console::print(std::string_view text, std::FILE* stream) {
  const std::string line = printable_with_styles(text) + '\n';
  const std::lock_guard lock(mutex_);
  erase_progress_line();
  std::fwrite(line.data(), 1, line.size(), stream);
  std::fflush(stream);
}

void Console::progress(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!on_terminal_ && (style_ == ConsoleStyle::kLog || text.empty() ||
                        Clock::now() - last_progress_ < kProgressEvery))
    return;
  erase_progress_line();
  if (text.empty()) return;
  last_progress_ = Clock::now();
  const std::string line = on_terminal_ ? fitted(printable(text)) : printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  progress_shown_ = on_terminal_;
}

void Console::erase_progress_line() {
  if (!progress_shown_) return;
  std::fputs("\r\x1b[K", stdout);
  progress_shown_ = false;
}

}  // namespace tenon::tools
