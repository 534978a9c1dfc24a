#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tenon::tools {

/// The grammars of option values.

std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);
/// 16, 1.5G, 512K ...: binary suffixes B, K, M, G; `default_suffix` counts where there is none.
std::optional<int64_t> parse_size(std::string_view text, char default_suffix);

/// 30s, 500ms, 5m, 1.5h, 30d, or seconds without a unit: in seconds, above zero.
std::optional<double> parse_duration(std::string_view text);

/// Pieces between separators outside single quotes; none for an empty text.
std::vector<std::string_view> split_outside_quotes(std::string_view text, char separator);

/// `text` equals `pattern`, in which one `*` stands for anything.
bool matches(std::string_view pattern, std::string_view text);

/// In quotes where a shell would read it as anything else.
std::string shell_word(std::string_view word);

/// Letters to insert, drop or change, and neighbours to swap, whatever their case.
size_t edit_distance(std::string_view a, std::string_view b);
/// The same from a typed name to one that exists; one where it is a word of that name, as shapes is
/// of calibration_shapes.
size_t letters_apart(std::string_view typed, std::string_view name);

struct NamedShape {
  std::string name;  ///< May hold one `*`.
  std::vector<int64_t> dims;
};
/// name:1x3x224x224,'na:me':2x5,scalar:,other:scalar. Split at the last colon of each piece.
Result<std::vector<NamedShape>> parse_shape_list(std::string_view text);
/// The entry for `name`: the exact one, else the first whose pattern matches.
const NamedShape* find_shape(const std::vector<NamedShape>& shapes, std::string_view name);
/// 1x3x224x224; "scalar" for no dimension.
std::string shape_text(const int64_t* dims, int count);

struct NamedText {
  std::string name;
  std::string text;
};
/// name:text[,name:text], as for files, sizes and types by layer; no text is empty, and no name has
/// two. Errors name the flag.
Result<std::vector<NamedText>> parse_map(std::string_view flag, std::string_view text);

/// 90,95,99: each from 0 to 100.
Result<std::vector<double>> parse_percentiles(std::string_view text);

}  // namespace tenon::tools
