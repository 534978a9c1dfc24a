#include "tools/values.h"

#include <charconv>
#include <cmath>

namespace tenon::tools {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<int64_t> suffix_factor(char suffix) {
  switch (suffix) {
    case 'B':
      return 1;
    case 'K':
      return int64_t{1} << 10;
    case 'M':
      return int64_t{1} << 20;
    case 'G':
      return int64_t{1} << 30;
    default:
      return std::nullopt;
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

bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return text.size() >= head.size() + tail.size() && text.starts_with(head) && text.ends_with(tail);
}

Result<std::vector<NamedShape>> parse_shape_list(std::string_view text) {
  std::vector<NamedShape> shapes;
  TENON_ASSIGN(const std::vector<NamedText> entries, parse_map(text));
  for (const NamedText& entry : entries) {
    TENON_ASSIGN(std::vector<int64_t> dims, parse_dims(entry.text, entry.name + ":" + entry.text));
    if (find_shape(shapes, entry.name) && find_shape(shapes, entry.name)->name == entry.name) {
      return user_error("'{}' is given two shapes in '{}'", entry.name, text);
    }
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

Result<std::vector<NamedText>> parse_map(std::string_view text) {
  std::vector<NamedText> entries;
  for (std::string_view piece : split_outside_quotes(text, ',')) {
    const size_t colon = piece.rfind(':');
    const std::string_view name = without_quotes(piece.substr(0, colon));
    if (colon == std::string_view::npos || name.empty()) {
      return user_error("'{}' is not of the form name:value", piece);
    }
    entries.push_back({std::string(name), std::string(piece.substr(colon + 1))});
  }
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
