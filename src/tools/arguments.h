#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tenon::tools {

enum class OptionId {
#define TENON_OPTION(name, kind, value, group, support, argument, help) name,
#define TENON_OPTION_ALIAS(old, name)
#include "tools/options.def"
};

enum class OptionKind { kFlag, kInteger, kReal, kText, kTextList };
enum class OptionGroup { kModel, kBuild, kSystem, kInference, kReporting, kTenon };
/// The groups with their titles in help and reports, in their order.
struct TitledGroup {
  OptionGroup group;
  std::string_view title;
};
inline constexpr TitledGroup kOptionGroups[] = {
    {OptionGroup::kModel, "Model"},         {OptionGroup::kBuild, "Build"},
    {OptionGroup::kSystem, "System"},       {OptionGroup::kInference, "Inference"},
    {OptionGroup::kReporting, "Reporting"}, {OptionGroup::kTenon, "Tenon's own"},
};
enum class OptionSupport { kWorks, kGpuOnly, kNoEffect, kRefused };

/// One row of options.def.
struct OptionRow {
  OptionId id;
  std::string_view name;
  OptionKind kind;
  std::string_view default_value;
  OptionGroup group;
  OptionSupport support;
  std::string_view argument;
  std::string_view help;
  std::string_view reason;  ///< Why it does not work; empty where it does.
};

std::span<const OptionRow> option_rows();

/// The command line, checked against the table. Values of kInteger and kReal are known to be
/// numbers.
class Arguments {
 public:
  struct Given {
    OptionId id;
    std::string value;
  };

  bool has(OptionId id) const;
  bool flag(OptionId id) const { return has(id); }
  int64_t integer(OptionId id) const;
  double real(OptionId id) const;
  /// The value given last, or the default.
  std::string text(OptionId id) const;
  std::vector<std::string> list(OptionId id) const;

  /// As if it had been given last.
  void give(OptionId id, std::string value) { given_.push_back({id, std::move(value)}); }

  /// Everything that was given, in order, with aliases resolved.
  const std::vector<Given>& given() const { return given_; }
  /// Arguments that are no options, as typed, in the form "--name value".
  const std::vector<std::string>& unknown() const { return unknown_; }
  /// Options of one value that were given again with another one, which counts.
  const std::vector<std::string>& repeated() const { return repeated_; }
  /// Spellings that stand for another option now: "--old is --new".
  const std::vector<std::string>& renamed() const { return renamed_; }

 private:
  friend Result<Arguments> parse_arguments(std::span<const char* const> words);

  std::vector<Given> given_;
  std::vector<std::string> unknown_;
  std::vector<std::string> repeated_;
  std::vector<std::string> renamed_;
};

/// The option that an unknown word most likely stands for; empty where none is near.
std::string_view closest_option(std::string_view typed);

/// For a flag that TensorRT had before version 10: the words to write in its place; else empty.
std::string_view removed_option_advice(std::string_view typed);

/// The hint behind an unknown option: the one meant, or its successor; may be empty.
std::string advice_on_unknown(std::string_view typed);

/// The device of --device for include/tenon/device.h. 0, which scripts give everywhere, also means
/// the CPU where there is no GPU.
int32_t chosen_device(const Arguments& arguments);

/// Reads `--name` and `--name=value` words. Unknown options are collected, wrong values are errors.
Result<Arguments> parse_arguments(std::span<const char* const> words);

/// Whether the flag does something, on one device at least.
bool works(const OptionRow& row);

/// The text of --help.
std::string help_text();
/// The same as Markdown, for docs/trtexec.md.
std::string help_markdown();

}  // namespace tenon::tools
