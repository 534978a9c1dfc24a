#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon::tools {

/// Under which heading a subcommand stands in the overview.
enum class CommandGroup { kEveryday, kLook, kMend, kScripts };

/// One row of commands.def.
struct Command {
  std::string_view name;
  int (*run)(std::span<const char* const> words);
  CommandGroup group;
  std::string_view arguments, summary;
};

std::span<const Command> commands();

/// Runs the subcommand that the first word names; without words, or with --help, prints the
/// overview. Returns the exit status.
int run_command(std::span<const char* const> words);

/// The list of subcommands by group, in at most 100 columns.
std::string overview();

}  // namespace tenon::tools
