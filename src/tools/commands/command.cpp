#include "tools/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tools/commands/session.h"
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

std::string overview() {
  std::string text = "usage: tenon COMMAND [flags]\n\n";
  text += kExamples;
  for (const TitledCommands& group : kGroups) {
    if (std::ranges::find(kCommands, group.group, &Command::group) == std::end(kCommands)) continue;
    text += fmt::format("\n{}\n", group.title);
    for (const Command& command : kCommands)
      if (command.group == group.group)
        text += fmt::format("  {:10}{:24}{}\n", command.name, command.arguments, command.summary);
  }
  text +=
      "\n`tenon COMMAND --help` shows the flags of one. Exit status: 0 done, 1 usage, 2 model,\n"
      "3 build, 4 run, 5 accuracy. `trtexec` is `tenon exec` by another name.\n";
  return text;
}

int run_command(std::span<const char* const> words) {
  if (words.empty() || asks_for_help(words[0])) {
    std::fputs(overview().c_str(), stdout);
    return 0;
  }
  const auto command = std::ranges::find(kCommands, std::string_view(words[0]), &Command::name);
  if (command == std::end(kCommands)) return unknown_command(words[0]);
  return command->run(words.subspan(1));
}

}  // namespace tenon::tools
