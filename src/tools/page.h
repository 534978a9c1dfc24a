#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::tools {

/// Columns of a page where standard output is no terminal, and of text on any terminal at most.
inline constexpr size_t kPageColumns = 96, kWidestText = 120;
/// Columns of a page: the terminal's, or kPageColumns where standard output is none. Never below
/// 40.
size_t page_columns();
/// Columns of running text: not so many that lines are hard to follow.
size_t text_columns();

/// The text in lines of at most `columns`, broken at spaces; all but the first begin with `indent`
/// spaces, for which the first one has its own beginning.
std::string wrapped(std::string_view beginning, std::string_view text, size_t indent,
                    size_t columns = text_columns());
/// A flag as it is written and its meaning, in lines of text_columns(); the meaning has a column of
/// its own where there is room for two. With a line end behind each.
std::string flag_lines(std::string_view flag, std::string_view meaning);
/// At most so many letters; the cut part becomes "...", in the middle.
std::string shortened(std::string_view text, size_t letters);

/// "12.3 MB", "1.4 s", "0.35 ms": three digits and a unit.
std::string bytes_text(double bytes);
std::string seconds_text(double seconds);
/// Of work that goes on, as exact as it can be meant; nothing where it is not known (negative).
std::string left_text(double seconds);
std::string count_text(double count);

/// Rows of cells in columns as wide as they need; numbers (and all cells of columns marked so) are
/// set to the right.
class Table {
 public:
  /// One letter a column: 'l' or 'r'.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}
  /// A cell is one line, whatever names it holds.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Each line begins with `indent` spaces and has at most page_columns() columns: the widest
  /// columns of words are shortened where that is too few. No line end behind the last.
  std::string text(size_t indent = 2) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

/// Commands to copy, and their meanings in a column of their own. A command is never shortened:
/// where it leaves no room, its meaning stands below.
class NextCommands {
 public:
  void add(std::string_view command, std::string meaning);
  /// No line end behind the last.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

}  // namespace tenon::tools
