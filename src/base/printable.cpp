#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tenon {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.

struct Sequence {
  size_t length;      ///< 0 for a byte that begins none.
  uint32_t bits;      ///< Of the first byte.
  uint32_t smallest;  ///< Code point that needs so many bytes.
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {1, first, 0};
  if (first >= 0xc2 && first < 0xe0) return {2, first & 0x1fU, 0x80};
  if (first >= 0xe0 && first < 0xf0) return {3, first & 0x0fU, 0x800};
  if (first >= 0xf0 && first < 0xf5) return {4, first & 0x07U, 0x10000};
  return {0, 0, 0};
}

constexpr size_t kLongestSequence = 4;

/// Whether the byte is not the first of its character.
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

/// Length of the code point that the text begins with, and its number; 0 where there is none.
std::pair<size_t, uint32_t> code_point(std::string_view text) {
  const Sequence sequence = sequence_of(static_cast<unsigned char>(text[0]));
  if (sequence.length == 0 || sequence.length > text.size()) return {0, 0};
  uint32_t number = sequence.bits;
  for (size_t i = 1; i < sequence.length; ++i) {
    if (!continues(text[i])) return {0, 0};
    number = number << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  const bool is_surrogate = number >= 0xd800 && number < 0xe000;
  if (number < sequence.smallest || number > 0x10ffff || is_surrogate) return {0, 0};
  return {sequence.length, number};
}

bool is_control(uint32_t number) {
  return number < 0x20 || (number >= 0x7f && number < 0xa0);
}

/// Control characters but for those of `kept` are written out.
std::string without_controls(std::string_view text, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto [length, number] = code_point(text);
    if (length == 0)
      result += kReplacement;
    else if (is_control(number) && kept.find(text[0]) == std::string_view::npos)
      result += fmt::format("\\x{:02x}", number);
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) {
  return without_controls(text, "\n\t");
}

std::string printable_name(std::string_view name) {
  return without_controls(name, "");
}

std::string_view clipped(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  // Bytes that are no UTF-8 have no character to keep whole.
  size_t end = bytes;
  while (end > 0 && bytes - end < kLongestSequence && continues(text[end])) --end;
  return text.substr(0, continues(text[end]) ? bytes : end);
}

std::string_view clipped_front(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  text.remove_prefix(text.size() - bytes);
  size_t begin = 0;
  while (begin < std::min(text.size(), kLongestSequence) && continues(text[begin])) ++begin;
  return text.substr(begin);
}

std::string_view first_letters(std::string_view text, size_t letters) {
  size_t end = 0;
  for (size_t count = 0; end < text.size(); ++end)
    if (!continues(text[end]) && ++count > letters) break;
  return text.substr(0, end);
}

std::string short_name(std::string_view name) {
  constexpr size_t kMostShown = 200;
  const std::string_view shown = clipped(name, kMostShown);
  return printable_name(shown) + (shown.size() < name.size() ? "..." : "");
}

}  // namespace tenon
