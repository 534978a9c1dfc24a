#include "tools/arguments.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "tenon/device.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr std::string_view before_bar(std::string_view text) {
  return text.substr(0, text.find(" | "));
}

constexpr std::string_view after_bar(std::string_view text) {
  const size_t bar = text.find(" | ");
  return bar == std::string_view::npos ? std::string_view() : text.substr(bar + 3);
}

constexpr OptionRow kRows[] = {
#define TENON_OPTION(name, kind, value, group, support, argument, help)                    \
  {OptionId::name,         #name,    OptionKind::kind, value,          OptionGroup::group, \
   OptionSupport::support, argument, before_bar(help), after_bar(help)},
#define TENON_OPTION_ALIAS(old, name)
#include "tools/options.def"
};

struct Alias {
  std::string_view old_name;
  OptionId id;
};

constexpr Alias kAliases[] = {
#define TENON_OPTION(name, kind, value, group, support, argument, help)
#define TENON_OPTION_ALIAS(old, name) {#old, OptionId::name},
#include "tools/options.def"
};

/// Aliases that are as good as the name itself; the others are answered with a remark.
bool is_short_form(std::string_view name) {
  return name == "h" || name == "vc" || name == "pi";
}

const OptionRow& row_of(OptionId id) {
  return kRows[static_cast<size_t>(id)];
}

struct Removed {
  std::string_view name, instead;
};

constexpr Removed kRemoved[] = {
#define TENON_REMOVED_OPTION(name, instead) {#name, instead},
#include "tools/removed_options.def"
};

struct Word {
  std::string_view name;
  std::optional<std::string_view> value;
};

std::optional<Word> split(std::string_view word) {
  const size_t dashes = word.starts_with("--") ? 2 : word == "-h" ? 1 : 0;
  if (dashes == 0) return std::nullopt;
  word.remove_prefix(dashes);
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return Word{word, std::nullopt};
  return Word{word.substr(0, equals), word.substr(equals + 1)};
}

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : kRows) {
    if (row.name == name) return &row;
  }
  for (const Alias& alias : kAliases) {
    if (alias.old_name == name) return &row_of(alias.id);
  }
  return nullptr;
}

Status check_value(const OptionRow& row, const Word& word) {
  if (row.kind == OptionKind::kFlag) {
    if (!word.value || (!row.argument.empty() && *word.value == row.argument)) return {};
    return user_error("--{} takes no value{}, but '{}' was given", word.name,
                      row.argument.empty() ? "" : fmt::format(" but '{}'", row.argument),
                      *word.value);
  }
  if (!word.value) {
    return user_error("--{} needs a value: --{}={}", word.name, word.name, row.argument);
  }
  const bool good = (row.kind != OptionKind::kInteger || parse_integer(*word.value)) &&
                    (row.kind != OptionKind::kReal || parse_real(*word.value));
  if (good) return {};
  return user_error("--{}={} is not a {}number", word.name, *word.value,
                    row.kind == OptionKind::kInteger ? "whole " : "");
}

std::string unknown_text(std::string_view typed) {
  const size_t equals = typed.find('=');
  if (equals == std::string_view::npos) return std::string(typed);
  return fmt::format("{} {}", typed.substr(0, equals), typed.substr(equals + 1));
}

}  // namespace

std::span<const OptionRow> option_rows() {
  return kRows;
}

bool Arguments::has(OptionId id) const {
  return std::ranges::any_of(given_, [id](const Given& given) { return given.id == id; });
}

std::string Arguments::text(OptionId id) const {
  for (auto given = given_.rbegin(); given != given_.rend(); ++given) {
    if (given->id == id) return given->value;
  }
  return std::string(row_of(id).default_value);
}

int64_t Arguments::integer(OptionId id) const {
  return parse_integer(text(id)).value_or(0);
}

double Arguments::real(OptionId id) const {
  return parse_real(text(id)).value_or(0);
}

std::vector<std::string> Arguments::list(OptionId id) const {
  std::vector<std::string> values;
  for (const Given& given : given_) {
    if (given.id == id) values.push_back(given.value);
  }
  return values;
}

Result<Arguments> parse_arguments(std::span<const char* const> words) {
  Arguments arguments;
  for (const char* typed : words) {
    const std::optional<Word> word = split(typed);
    const OptionRow* row = word ? find_row(word->name) : nullptr;
    if (!row) {
      arguments.unknown_.push_back(unknown_text(typed));
      continue;
    }
    TENON_TRY(check_value(*row, *word));
    if (row->name != word->name && !is_short_form(word->name)) {
      arguments.renamed_.push_back(fmt::format("--{} is called --{} now", word->name, row->name));
    }
    if (row->kind != OptionKind::kTextList && arguments.has(row->id) &&
        arguments.text(row->id) != word->value.value_or(""))
      arguments.repeated_.push_back(fmt::format("--{} is given again: {} counts, not {}", row->name,
                                                *word->value, arguments.text(row->id)));
    arguments.given_.push_back({row->id, std::string(word->value.value_or(""))});
  }
  return arguments;
}

namespace {

/// Without dashes and value.
std::string_view name_of(std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  return typed.substr(0, typed.find_first_of(" ="));
}

}  // namespace

std::string_view removed_option_advice(std::string_view typed) {
  const auto row = std::ranges::find(kRemoved, name_of(typed), &Removed::name);
  return row == std::end(kRemoved) ? std::string_view() : row->instead;
}

std::string_view closest_option(std::string_view typed) {
  typed = name_of(typed);
  std::string_view closest;
  size_t least = 1 + typed.size() / 3;
  for (const OptionRow& row : kRows)
    if (const size_t letters = edit_distance(typed, row.name); letters < least) {
      least = letters;
      closest = row.name;
    }
  return closest;
}

std::string advice_on_unknown(std::string_view typed) {
  if (const std::string_view advice = removed_option_advice(typed); !advice.empty())
    return fmt::format(" (removed from TensorRT 10: {})", advice);
  const std::string_view meant = closest_option(typed);
  return meant.empty() ? "" : fmt::format(" (did you mean --{}?)", meant);
}

int32_t chosen_device(const Arguments& arguments) {
  const int64_t device = arguments.integer(OptionId::device);
  return device == 0 ? kDefaultDevice : static_cast<int32_t>(device);
}

}  // namespace tenon::tools
