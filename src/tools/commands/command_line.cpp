#include "tools/commands/command_line.h"

#include <algorithm>
#include <optional>

#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

const OwnFlag* find_flag(const Usage& usage, std::string_view name) {
  const auto found = std::ranges::find(usage.flags, name, &OwnFlag::name);
  return found == usage.flags.end() ? nullptr : &*found;
}

/// A flag without its dashes, and its value; a word that is no flag has no name.
struct FlagWord {
  std::string_view name;
  std::optional<std::string_view> value;
};

FlagWord split(std::string_view word) {
  const size_t dashes = word.find_first_not_of('-');
  if (dashes == 0 || dashes == std::string_view::npos) return {};
  word.remove_prefix(dashes);
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// One of trtexec's that the subcommand shows among its own.
bool is_exec_flag(const Usage& usage, std::string_view name) {
  return usage.exec_flags != ExecFlags::kNone &&
         std::ranges::find(option_rows(), name, &OptionRow::name) != option_rows().end();
}

bool takes_next_word(const OwnFlag& flag) {
  return flag.name.size() == 1 && !flag.argument.empty();
}

std::string spelled(std::string_view name, std::string_view argument) {
  const std::string_view dashes = name.size() == 1 ? "-" : "--";
  if (argument.empty()) return fmt::format("{}{}", dashes, name);
  return fmt::format("{}{}{}{}", dashes, name, name.size() == 1 ? ' ' : '=', argument);
}

/// The one of trtexec's or of the subcommand that was meant, or the advice on a removed one.
Error unknown_flag(Session& session, const Usage& usage, std::string_view typed) {
  if (const std::string_view instead = removed_option_advice(typed); !instead.empty())
    return session.fail(ErrorId::kRemovedFlag, "{} is no flag of TensorRT 10: {}", typed, instead);
  std::string_view name = typed.substr(typed.find_first_not_of('-'));
  name = name.substr(0, name.find('='));
  for (const OwnFlag& flag : usage.flags)
    if (letters_apart(name, flag.name) <= 1 + name.size() / 4 && name.size() > 1)
      return session.fail(ErrorId::kUnknownFlag, "{} is no flag of `tenon {}`; did you mean {}?",
                          typed, usage.command, spelled(flag.name, flag.argument));
  const std::string_view meant =
      usage.exec_flags == ExecFlags::kNone ? std::string_view() : closest_option(typed);
  return session.fail(ErrorId::kUnknownFlag, "{} is no flag of `tenon {}`{}", typed, usage.command,
                      meant.empty() ? "" : fmt::format("; did you mean --{}?", meant));
}

Status check_words(Session& session, const Usage& usage, size_t count) {
  if (count < static_cast<size_t>(usage.least_words))
    return session.fail(ErrorId::kMissingArgument, "usage: tenon {} {}", usage.command,
                        usage.words);
  if (count > static_cast<size_t>(usage.most_words))
    return session.fail(ErrorId::kUsage, "{} words were given where {} {}; usage: tenon {} {}",
                        count, usage.most_words, usage.most_words == 1 ? "is taken" : "are taken",
                        usage.command, usage.words);
  return {};
}

/// Flags that `tenon check` and others need for the model alone.
bool is_about_models(const OptionRow& row) {
  using enum OptionId;
  constexpr OptionId kIds[] = {shapes, loadInputs, staticPlugins, dynamicPlugins};
  return std::ranges::find(kIds, row.id) != std::end(kIds);
}

bool is_shown(const Usage& usage, const OptionRow& row) {
  constexpr OptionId kSpokenOf[] = {OptionId::help, OptionId::helpMarkdown, OptionId::onnx,
                                    OptionId::loadEngine, OptionId::saveEngine};
  if (usage.exec_flags == ExecFlags::kNone || find_flag(usage, row.name) != nullptr ||
      std::ranges::find(kSpokenOf, row.id) != std::end(kSpokenOf))
    return false;
  if (usage.exec_flags == ExecFlags::kModel) return is_about_models(row);
  return std::ranges::find(usage.groups, row.group) != usage.groups.end();
}

std::string own_flag_lines(std::string_view name, std::string_view argument,
                           std::string_view help) {
  return flag_lines(spelled(name, argument), help);
}

std::string example_lines(const Example& example) {
  std::string line = fmt::format("  {:<52}  # {}\n", example.typed, example.meaning);
  if (line.size() <= page_columns() + 1) return line;
  return fmt::format("  {}\n      # {}\n", example.typed, example.meaning);
}

std::string exec_flag_lines(const OptionRow& row) {
  std::string help(row.help);
  if (!row.default_value.empty() && row.kind != OptionKind::kFlag)
    help += fmt::format(" (default {})", row.default_value);
  if (row.support == OptionSupport::kGpuOnly) help += " [GPU only]";
  return own_flag_lines(row.name, row.argument, help);
}

std::string exec_flags_text(const Usage& usage) {
  std::string text;
  for (const TitledGroup& group : kOptionGroups) {
    std::string lines;
    for (const OptionRow& row : option_rows())
      if (row.group == group.group && works(row) && is_shown(usage, row))
        lines += exec_flag_lines(row);
    if (!lines.empty()) text += fmt::format("\n{} flags, as trtexec's\n{}", group.title, lines);
  }
  std::string lines;
  for (const OptionRow& row : option_rows())
    if (!works(row) && is_shown(usage, row))
      lines += own_flag_lines(
          row.name, row.argument,
          (row.support == OptionSupport::kRefused ? "refused: " : "") + std::string(row.reason));
  if (!lines.empty()) text += fmt::format("\nFlags without effect here, and why\n{}", lines);
  return text;
}

}  // namespace

std::string CommandLine::text(std::string_view flag) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string() : found->second;
}

Result<CommandLine> CommandLine::parse(Session& session, const Usage& usage,
                                       std::span<const char* const> typed) {
  CommandLine line;
  line.typed_.assign(typed.begin(), typed.end());
  std::vector<const char*> others;
  for (size_t i = 0; i < typed.size(); ++i) {
    const FlagWord word = split(typed[i]);
    const OwnFlag* flag = is_exec_flag(usage, word.name) ? nullptr : find_flag(usage, word.name);
    if (word.name.empty()) {
      line.words_.emplace_back(typed[i]);
    } else if (word.name == "help" || word.name == "h") {
      line.flags_["help"] = "";
    } else if (flag == nullptr) {
      others.push_back(typed[i]);
    } else if (takes_next_word(*flag) && !word.value && i + 1 < typed.size()) {
      line.flags_[std::string(flag->name)] = typed[++i];
    } else if (flag->argument.empty() == word.value.has_value()) {
      return session.fail(ErrorId::kFlagValue, "{}: the flag is written {}", typed[i],
                          spelled(flag->name, flag->argument));
    } else {
      line.flags_[std::string(flag->name)] = word.value.value_or("");
    }
  }
  if (line.wants_help()) return line;
  if (usage.exec_flags == ExecFlags::kNone && !others.empty())
    return unknown_flag(session, usage, others.front());
  for (const char* word : others)
    if (const auto one = parse_arguments({&word, 1}); one.ok() && !one->unknown().empty())
      return unknown_flag(session, usage, word);
  TENON_ASSIGN(line.arguments_, parse_arguments(others));
  TENON_TRY(check_words(session, usage, line.words_.size()));
  return line;
}

std::string help_of(const Usage& usage) {
  std::string text = fmt::format("{}\n\n", wrapped("", usage.purpose, 0));
  for (const Example& example : usage.examples) text += example_lines(example);
  text += fmt::format("\nusage: tenon {} {}\n", usage.command, usage.words);
  if (!usage.flags.empty()) text += "\nFlags\n";
  for (const OwnFlag& flag : usage.flags)
    text += own_flag_lines(flag.name, flag.argument, flag.help);
  text += exec_flags_text(usage);
  if (usage.exec_flags == ExecFlags::kAll)
    text += "\n" + wrapped("",
                           "All other flags of trtexec are taken too: `tenon exec --help` lists "
                           "them.",
                           0);
  return text;
}

}  // namespace tenon::tools
