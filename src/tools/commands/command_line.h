#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/arguments.h"
#include "tools/commands/session.h"

namespace tenon::tools {

/// A flag that one subcommand has beside those of trtexec. `-o` takes the next word as its value,
/// as all flags of one letter do; the others are `--name` and `--name=value`.
struct OwnFlag {
  std::string_view name, argument, help;
};

struct Example {
  std::string_view typed, meaning;
};

/// Which of trtexec's flags a subcommand takes.
enum class ExecFlags { kNone, kModel, kAll };

/// All that a subcommand says of itself.
struct Usage {
  std::string_view command, words, purpose;
  std::span<const Example> examples;
  std::span<const OwnFlag> flags;
  ExecFlags exec_flags = ExecFlags::kNone;
  int least_words = 1, most_words = 1;
  /// Of the groups of options.def, those to list; the others are in the help of `tenon exec`.
  std::span<const OptionGroup> groups = {};
};

/// The words of a subcommand: those without dashes, its own flags, and those of trtexec.
class CommandLine {
 public:
  const std::vector<std::string>& words() const { return words_; }
  bool has(std::string_view flag) const { return flags_.contains(flag); }
  /// The value given last; empty where there is none.
  std::string text(std::string_view flag) const;
  const Arguments& arguments() const { return arguments_; }
  /// All words as they were typed, for the command that repeats a run.
  std::span<const char* const> typed() const { return typed_; }
  bool wants_help() const { return has("help") || has("h"); }

  static Result<CommandLine> parse(Session& session, const Usage& usage,
                                   std::span<const char* const> typed);

 private:
  std::vector<const char*> typed_;  ///< The program's own arguments.
  std::vector<std::string> words_;
  std::map<std::string, std::string, std::less<>> flags_;
  Arguments arguments_;
};

/// --help of a subcommand: examples first, as wide as the page.
std::string help_of(const Usage& usage);

/// Parses, then prints the help or calls work(session, line), which returns a Status. Gives the
/// exit status.
template <class Work>
int run_with_line(const Usage& usage, std::span<const char* const> typed, Work&& work) {
  return run_session(fmt::format("tenon {}", usage.command), [&](Session& session) -> Status {
    TENON_ASSIGN(const CommandLine line, CommandLine::parse(session, usage, typed));
    if (!line.wants_help()) return work(session, line);
    session.console().plain(help_of(usage));
    return {};
  });
}

}  // namespace tenon::tools
