#include "tools/page.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/printable.h"

namespace tenon::tools {
namespace {

/// Letters, not bytes, of UTF-8.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

std::string three_digits(double value) {
  return value < 10    ? fmt::format("{:.2f}", value)
         : value < 100 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.0f}", value);
}

std::string padded(std::string_view text, size_t columns, bool right) {
  const std::string space(columns - std::min(columns, width(text)), ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

/// Narrower than this, a flag or a command stands above its meaning.
constexpr size_t kTwoColumns = 72;
constexpr size_t kLeastColumns = 40;
/// Words of a table are not shortened further.
constexpr size_t kLeastWord = 8;

}  // namespace

size_t page_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPageColumns;
  return std::max<size_t>(size.ws_col, kLeastColumns);
}

size_t text_columns() {
  return std::min(page_columns(), kWidestText);
}

namespace {

/// Takes from the widest columns of words until the whole fits; numbers keep all their digits.
void shorten_words(std::vector<size_t>& columns, std::string_view alignment, size_t whole) {
  for (; whole > page_columns(); --whole) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < columns.size(); ++i)
      if (alignment[i] == 'l' && columns[i] > kLeastWord &&
          (widest == nullptr || columns[i] > *widest))
        widest = &columns[i];
    if (widest == nullptr) return;
    --*widest;
  }
}

}  // namespace

std::string wrapped(std::string_view beginning, std::string_view text, size_t indent,
                    size_t columns) {
  std::string lines, line = padded(beginning, indent, false);
  bool empty = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!empty && width(line) + 1 + width(word) > columns) {
      lines += line + '\n';
      line = std::string(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return lines + line;
}

std::string flag_lines(std::string_view flag, std::string_view meaning) {
  constexpr size_t kFlagColumns = 28;
  const std::string beginning = fmt::format("  {}", flag);
  if (text_columns() < kTwoColumns) return beginning + '\n' + wrapped("", meaning, 6) + '\n';
  if (width(beginning) + 2 <= kFlagColumns) return wrapped(beginning, meaning, kFlagColumns) + '\n';
  return beginning + '\n' + wrapped("", meaning, kFlagColumns) + '\n';
}

std::string shortened(std::string_view text, size_t letters) {
  const size_t whole = width(text);
  if (whole <= letters) return std::string(text);
  if (letters < 8) return std::string(first_letters(text, letters));
  const size_t tail = (letters - 3) / 2, head = letters - 3 - tail;
  return fmt::format("{}...{}", first_letters(text, head),
                     text.substr(first_letters(text, whole - tail).size()));
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{} {}", three_digits(bytes), kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds >= 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 100)
    return fmt::format("{:.0f} min {:02.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60));
  if (seconds >= 1) return fmt::format("{} s", three_digits(seconds));
  if (seconds >= 1e-3) return fmt::format("{} ms", three_digits(seconds * 1e3));
  return fmt::format("{} us", three_digits(seconds * 1e6));
}

std::string left_text(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 1) return "less than a second left";
  if (seconds < 90) return fmt::format("about {:.0f} s left", seconds);
  return fmt::format("about {:.0f} min left", seconds / 60);
}

std::string count_text(double count) {
  if (count < 1e4) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{} k", three_digits(count / 1e3));
  return count < 1e9 ? fmt::format("{} M", three_digits(count / 1e6))
                     : fmt::format("{} G", three_digits(count / 1e9));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable_name(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(size_t indent) const {
  std::vector<size_t> columns(alignment_.size(), 0);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) columns[i] = std::max(columns[i], width(row[i]));
  size_t whole = indent + 2 * (columns.size() - 1);
  for (const size_t column : columns) whole += column;
  shorten_words(columns, alignment_, whole);
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i)
      line += padded(shortened(row[i], columns[i]), columns[i], alignment_[i] == 'r') + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

void NextCommands::add(std::string_view command, std::string meaning) {
  rows_.emplace_back(printable_name(command), std::move(meaning));
}

std::string NextCommands::text() const {
  constexpr size_t kIndent = 2, kGap = 2;
  // Meanings of all commands that a column of that width holds stand beside it.
  const auto fits = [this](size_t column) {
    return std::ranges::all_of(rows_, [column](const auto& row) {
      return width(row.first) > column ||
             kIndent + column + kGap + width(row.second) <= page_columns();
    });
  };
  size_t column = 0;
  for (const auto& [command, meaning] : rows_)
    if (fits(width(command))) column = std::max(column, width(command));
  std::string text;
  for (const auto& [command, meaning] : rows_) {
    const bool beside = width(command) <= column;
    text += fmt::format("{}  {}{}{}", text.empty() ? "" : "\n",
                        padded(command, beside ? column : 0, false), beside ? "  " : "\n      ",
                        meaning);
  }
  return text;
}

}  // namespace tenon::tools
