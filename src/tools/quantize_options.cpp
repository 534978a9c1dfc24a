#include "tools/quantize_options.h"

#include <algorithm>
#include <iterator>

#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

enum class Support { kWorks, kNoEffect, kRefused };

struct Row {
  std::string_view name, usual, takes;
  Support support;
  std::string_view text;
};
constexpr Row kRows[] = {
#define TENON_QUANTIZE_OPTION(name, usual, takes, support, text) \
  {#name, usual, takes, Support::support, text},
#include "tools/quantize_options.def"
};

/// Flags by other names.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"calibration_data_path", "calibration_data"}, {"onnx", "onnx_path"}, {"max_drop", "max-drop"}};

const Row* find_row(std::string_view name) {
  for (const auto& [alias, flag] : kAliases)
    if (alias == name) name = flag;
  const auto* const found = std::ranges::find(kRows, name, &Row::name);
  return found == std::end(kRows) ? nullptr : found;
}

Error unknown_flag(std::string_view typed) {
  std::string_view name = typed.substr(0, typed.find('='));
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  const Row* meant = nullptr;
  size_t least = 1 + name.size() / 3;
  for (const Row& row : kRows)
    if (const size_t letters = letters_apart(name, row.name); letters < least) {
      least = letters;
      meant = &row;
    }
  return user_error("{} is no flag of `tenon quantize`{}", typed,
                    meant == nullptr ? "" : fmt::format("; did you mean --{}?", meant->name));
}

bool is_number(std::string_view name) {
  const Row* row = find_row(name);
  return row != nullptr && row->takes == "number";
}

std::string help_text() {
  std::string text =
      wrapped("",
              "Gives a copy of an ONNX model in 8- or 4-bit numbers (QuantizeLinear, "
              "DequantizeLinear), with ranges from calibration data, and a table of its layers.",
              0) +
      "\n\n"
      "  tenon quantize resnet50.onnx --calibration_data=images.npy\n"
      "  tenon quantize gpt2.onnx -o gpt2.int4.onnx --quantize_mode=int4\n"
      "\nusage: tenon quantize MODEL [-o OUTPUT] [flags]\n\nFlags\n";
  for (const Row& row : kRows) {
    const std::string flag = row.takes.empty() ? fmt::format("--{}", row.name)
                                               : fmt::format("--{}={}", row.name, row.takes);
    const char* mark = row.support == Support::kWorks      ? ""
                       : row.support == Support::kNoEffect ? " [no effect]"
                                                           : " [refused]";
    text += flag_lines(
        flag, fmt::format("{}{}{}", row.text,
                          row.usual.empty() ? "" : fmt::format(" (default {})", row.usual), mark));
  }
  return text;
}

}  // namespace

Result<QuantizeArguments> QuantizeArguments::parse(std::span<const char* const> words) {
  QuantizeArguments result;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "--help" || word == "-h") {
      result.help_ = true;
      continue;
    }
    if (word == "-o" && i + 1 < words.size()) {
      result.given_["output_path"] = words[++i];
      continue;
    }
    // Words behind a flag that takes some are read with it.
    if (!word.starts_with("-") && !result.given_.contains("onnx_path")) {
      result.given_["onnx_path"] = word;
      continue;
    }
    if (!word.starts_with("-"))
      return user_error("'{}' is one word too many: tenon quantize MODEL [-o OUTPUT] [flags]",
                        word);
    if (!word.starts_with("--")) return unknown_flag(word);
    word.remove_prefix(2);
    const size_t sign = word.find('=');
    const Row* row = find_row(word.substr(0, sign));
    if (row == nullptr) return unknown_flag(words[i]);
    if (row->support == Support::kRefused)
      return unsupported("--{} cannot be used: {}", row->name, row->text);
    if (row->support == Support::kNoEffect)
      result.remarks_.push_back(fmt::format("--{} has no effect: {}", row->name, row->text));
    std::string value = sign == std::string_view::npos ? "" : std::string(word.substr(sign + 1));
    while (!row->takes.empty() && sign == std::string_view::npos && i + 1 < words.size() &&
           !std::string_view(words[i + 1]).starts_with("--") &&
           std::string_view(words[i + 1]) != "-o")
      value = value.empty() ? words[++i] : fmt::format("{},{}", value, words[++i]);
    if (row->takes.empty()) value = "true";
    if (value.empty() && row->usual.empty() && row->support == Support::kWorks)
      return user_error("--{} needs a value: {}", row->name, row->takes);
    result.given_[std::string(row->name)] = value.empty() ? "true" : value;
  }
  for (const auto& [name, value] : result.given_)
    if (is_number(name) && !parse_real(value))
      return user_error("--{}={}: a number is expected", name, value);
  if (const std::string type = result.text("high_precision_dtype"); type != "fp32")
    return unsupported(
        "--high_precision_dtype={} cannot be used: what is not quantized stays in fp32; build the "
        "result with --fp16 or --bf16",
        type);
  if (const std::string word = result.text("per_channel"); word != "true" && word != "false")
    return user_error("--per_channel={}: true or false is expected", word);
  if (result.given_.contains("max-drop") && result.number("max-drop") < 0)
    return user_error("--max-drop={}: a number of at least 0 is expected", result.text("max-drop"));
  return result;
}

std::string QuantizeArguments::text(std::string_view flag) const {
  const auto found = given_.find(flag);
  if (found != given_.end()) return found->second;
  const Row* row = find_row(flag);
  return row == nullptr ? std::string() : std::string(row->usual);
}

double QuantizeArguments::number(std::string_view flag) const {
  return parse_real(text(flag)).value_or(0);
}

std::string QuantizeArguments::help() {
  return help_text();
}

}  // namespace tenon::tools
