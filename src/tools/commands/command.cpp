#include "tools/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/version.h"
#include "tools/commands/session.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {

#define TENON_COMMAND(name, function, group, arguments, summary) \
  int function(std::span<const char* const> words);
#include "tools/commands/commands.def"

namespace {

constexpr Command kCommands[] = {
#define TENON_COMMAND(name, function, group, arguments, summary) \
  {name, function, CommandGroup::group, arguments, summary},
#include "tools/commands/commands.def"
};

struct TitledCommands {
  CommandGroup group;
  std::string_view title;
};

constexpr TitledCommands kGroups[] = {
    {CommandGroup::kEveryday, "Every day"},
    {CommandGroup::kLook, "Look inside"},
    {CommandGroup::kMend, "When something is wrong"},
    {CommandGroup::kScripts, "For scripts"},
};

constexpr std::string_view kExamples =
    "  tenon build resnet50.onnx -o resnet50.plan      # a plan for the GPU, or for this CPU\n"
    "  tenon bench resnet50.plan                       # how fast it is\n"
    "  tenon run resnet50.plan --loadInputs=input:cat.bin\n";

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == "help";
}

bool asks_for_version(std::string_view word) {
  return word == "--version" || word == "-V" || word == "version";
}

int unknown_command(std::string_view word) {
  Session session("tenon");
  std::string_view meant;
  size_t least = 1 + word.size() / 2;
  for (const Command& command : kCommands)
    if (const size_t letters = edit_distance(word, command.name); letters < least) {
      least = letters;
      meant = command.name;
    }
  const std::string advice = meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
  return session.end(
      session.fail(ErrorId::kUnknownCommand, "'{}' is no subcommand of tenon{}", word, advice));
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

namespace {

std::string command_lines(const Command& command) {
  std::string line =
      fmt::format("  {:10}{:24}{}\n", command.name, command.arguments, command.summary);
  if (line.size() <= text_columns() + 1) return line;
  return fmt::format("  {} {}\n{}\n", command.name, command.arguments,
                     wrapped("", command.summary, 6));
}

int show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Session("tenon").end({});
}

/// Of the program, and of the API that it stands in for.
std::string version_text() {
  return fmt::format("tenon {}, TensorRT {}.{}.{}.{}\n", TENON_VERSION, kApiMajor, kApiMinor,
                     kApiPatch, kApiBuild);
}

}  // namespace

std::string overview() {
  std::string text = "usage: tenon COMMAND [flags]\n\n";
  text += kExamples;
  for (const TitledCommands& group : kGroups) {
    if (std::ranges::find(kCommands, group.group, &Command::group) == std::end(kCommands)) continue;
    text += fmt::format("\n{}\n", group.title);
    for (const Command& command : kCommands)
      if (command.group == group.group) text += command_lines(command);
  }
  text += '\n';
  text += wrapped("",
                  "`tenon COMMAND --help` shows the flags of one. Exit status: 0 done, 1 usage, 2 "
                  "model, 3 build, 4 run, 5 accuracy. `trtexec` is `tenon exec` by another name.",
                  0);
  return text + '\n';
}

int run_command(std::span<const char* const> words) {
  const bool help = words.empty() || asks_for_help(words[0]);
  if (help && words.size() < 2) return show(overview());
  if (asks_for_version(words[0])) return show(version_text());
  // `tenon help build` is `tenon build --help`.
  const std::string_view name = words[help ? 1 : 0];
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == std::end(kCommands)) return unknown_command(name);
  static constexpr const char* kHelp[] = {"--help"};
  return command->run(help ? std::span(kHelp) : words.subspan(1));
}

}  // namespace tenon::tools
