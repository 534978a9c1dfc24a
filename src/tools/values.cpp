#include "tools/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/ascii.h"

namespace tenon::tools {
namespace {

template <class Number> std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<int64_t> suffix_factor(char suffix) {
  switch (suffix) {
    case 'B': return 1;
    case 'K': return int64_t{1} << 10;
    case 'M': return int64_t{1} << 20;
    case 'G': return int64_t{1} << 30;
    default: return std::nullopt;
  }
}

std::string_view without_quotes(std::string_view name) {
  if (name.size() < 2 || name.front() != '\'' || name.back() != '\'') return name;
  return name.substr(1, name.size() - 2);
}

Result<std::vector<int64_t>> parse_dims(std::string_view text, std::string_view piece) {
  std::vector<int64_t> dims;
  if (text.empty() || text == "scalar") return dims;
  for (std::string_view word : split_outside_quotes(text, 'x')) {
    const auto extent = parse_integer(word);
    if (!extent || *extent < 0) {
      return user_error("'{}' is no shape: '{}' is not an extent (expected name:1x3x224x224)",
                        piece, word);
    }
    dims.push_back(*extent);
  }
  return dims;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  return parse_number<int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<int64_t> parse_size(std::string_view text, char default_suffix) {
  char suffix = default_suffix;
  if (!text.empty() && suffix_factor(text.back())) {
    suffix = text.back();
    text.remove_suffix(1);
  }
  const auto value = parse_real(text);
  const auto factor = suffix_factor(suffix);
  if (!value || !factor || *value < 0 || *value * static_cast<double>(*factor) > 0x1p62)
    return std::nullopt;
  return static_cast<int64_t>(*value * static_cast<double>(*factor));
}

std::vector<std::string_view> split_outside_quotes(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  if (text.empty()) return pieces;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (text[i] != separator || quoted) continue;
    pieces.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

std::optional<double> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  double factor = 1;
  for (const Unit& unit : kUnits)
    if (text.ends_with(unit.name)) {
      factor = unit.seconds;
      text.remove_suffix(unit.name.size());
      break;
    }
  const auto number = parse_real(text);
  if (!number.has_value() || !(*number > 0)) return std::nullopt;
  return *number * factor;
}

bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return text.size() >= head.size() + tail.size() && text.starts_with(head) && text.ends_with(tail);
}

std::string shell_word(std::string_view word) {
  const bool plain = std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=./:,+%@").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return std::string(word);
  std::string text;
  for (const char c : word) {
    if (c == '\'') text += "'\\'";
    text += c;
  }
  return fmt::format("'{}'", text);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  const auto is_same = [&](size_t i, size_t j) { return to_lower(a[i]) == to_lower(b[j]); };
  // Of beginnings of `a` of so many letters: two less, one less, and these.
  std::vector<size_t> two(b.size() + 1), one(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    two.swap(one);
    one.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = one[j - 1] + (is_same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({change, one[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && is_same(i - 1, j - 2) && is_same(i - 2, j - 1))
        row[j] = std::min(row[j], two[j - 2] + 1);
    }
  }
  return row[b.size()];
}

size_t letters_apart(std::string_view typed, std::string_view name) {
  const size_t letters = edit_distance(typed, name);
  for (size_t end = 0; end != std::string_view::npos && !typed.empty();) {
    end = name.find_first_of("_-");
    if (name.substr(0, end) == typed) return std::min<size_t>(letters, 1);
    name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
  }
  return letters;
}

namespace {

/// Texts may be empty.
Result<std::vector<NamedText>> parse_entries(std::string_view text) {
  std::vector<NamedText> entries;
  for (std::string_view piece : split_outside_quotes(text, ',')) {
    const size_t colon = piece.rfind(':');
    const std::string_view name = without_quotes(piece.substr(0, colon));
    if (colon == std::string_view::npos || name.empty()) {
      return user_error("'{}' is not of the form name:value", piece);
    }
    NamedText entry{std::string(name), std::string(piece.substr(colon + 1))};
    const auto same = std::ranges::find(entries, entry.name, &NamedText::name);
    if (same != entries.end() && same->text != entry.text)
      return user_error("'{}' is given twice in '{}'", entry.name, text);
    if (same == entries.end()) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Result<std::vector<NamedShape>> parse_shape_list(std::string_view text) {
  std::vector<NamedShape> shapes;
  TENON_ASSIGN(const std::vector<NamedText> entries, parse_entries(text));
  for (const NamedText& entry : entries) {
    TENON_ASSIGN(std::vector<int64_t> dims, parse_dims(entry.text, entry.name + ":" + entry.text));
    shapes.push_back({entry.name, std::move(dims)});
  }
  if (shapes.empty()) return user_error("the shape list is empty (expected name:1x3x224x224)");
  return shapes;
}

const NamedShape* find_shape(const std::vector<NamedShape>& shapes, std::string_view name) {
  for (const NamedShape& shape : shapes) {
    if (shape.name == name) return &shape;
  }
  for (const NamedShape& shape : shapes) {
    if (matches(shape.name, name)) return &shape;
  }
  return nullptr;
}

std::string shape_text(const int64_t* dims, int count) {
  if (count <= 0) return "scalar";
  return fmt::format("{}", fmt::join(dims, dims + count, "x"));
}

Result<std::vector<NamedText>> parse_map(std::string_view flag, std::string_view text) {
  Result<std::vector<NamedText>> entries = parse_entries(text);
  if (!entries.ok()) return std::move(entries).error().with_context(flag);
  for (const NamedText& entry : *entries)
    if (entry.text.empty())
      return user_error("{}: '{}:' is not of the form name:value", flag, entry.name);
  return entries;
}

Result<std::vector<double>> parse_percentiles(std::string_view text) {
  std::vector<double> percentiles;
  for (std::string_view word : split_outside_quotes(text, ',')) {
    const auto value = parse_real(word);
    if (!value || *value < 0 || *value > 100) {
      return user_error("--percentile={}: '{}' is not a number from 0 to 100", text, word);
    }
    percentiles.push_back(*value);
  }
  return percentiles;
}

}  // namespace tenon::tools
