#include "ops/text_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.h"
#include "ir/text.h"

namespace tenon {
namespace {

bool is_word(char c) {
  return is_letter_or_digit(c) || c == '_';
}

}  // namespace

Error TextScanner::fail(std::string_view what) const {
  const std::string_view before = text_.substr(0, position_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = position_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return user_error("line {}, column {}: {}", line, column, what);
}

char TextScanner::peek() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '/' && text_.substr(position_, 2) == "//")
      position_ = std::min(text_.find('\n', position_), text_.size());
    else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++position_;
    else
      return c;
  }
  return '\0';
}

bool TextScanner::accept(char c) {
  if (peek() != c) return false;
  ++position_;
  return true;
}

bool TextScanner::accept_adjacent(std::string_view text) {
  if (text_.substr(position_, text.size()) != text) return false;
  position_ += text.size();
  return true;
}

bool TextScanner::accept_word(std::string_view word) {
  peek();
  if (text_.substr(position_, word.size()) != word) return false;
  const size_t end = position_ + word.size();
  if (end < text_.size() && is_word(text_[end])) return false;
  position_ = end;
  return true;
}

Status TextScanner::expect(char c) {
  if (accept(c)) return {};
  return fail(fmt::format("'{}' expected", c));
}

std::string_view TextScanner::token(std::string_view extra) {
  peek();
  const size_t begin = position_;
  while (position_ < text_.size() &&
         (is_word(text_[position_]) || extra.find(text_[position_]) != std::string_view::npos))
    ++position_;
  return text_.substr(begin, position_ - begin);
}

Result<std::string> TextScanner::word() {
  const std::string_view text = token("");
  if (text.empty()) return fail("a word expected");
  return std::string(text);
}

Result<std::string> TextScanner::quoted() {
  if (!accept('"')) return fail("a string in quotes expected");
  std::string result;
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'x') {
        unsigned byte = 0;
        const char* begin = text_.data() + position_;
        const size_t left = std::min<size_t>(2, text_.size() - position_);
        if (left < 2 || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2)
          return fail("two hexadecimal digits expected");
        position_ += 2;
        c = static_cast<char>(byte);
      }
    }
    result += c;
  }
  if (position_ >= text_.size()) return fail("the string does not end");
  ++position_;
  return result;
}

Result<int64_t> TextScanner::integer() {
  const std::string_view text = token("-");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail("an integer of 64 bits expected");
  return value;
}

Result<double> TextScanner::real() {
  const std::string_view text = token("+-.");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail("a number expected");
  return value;
}

Result<DataType> TextScanner::data_type() {
  const std::string_view text = token("");
  if (const auto type = data_type_by_name(text)) return *type;
  return fail(fmt::format("\"{}\" is no element type", text));
}

Result<std::vector<Dim>> TextScanner::dims(char open, char close) {
  TENON_TRY(expect(open));
  std::vector<Dim> result;
  if (accept(close)) return result;
  int depth = 0;
  bool in_quotes = false;
  size_t begin = position_;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (in_quotes) {
      if (c == '\\') ++position_;
      in_quotes = c != '"';
      continue;
    }
    in_quotes = c == '"';
    if (depth == 0 && (c == ',' || c == close)) {
      auto dim = Dim::parse(text_.substr(begin, position_ - begin));
      if (!dim.ok()) return fail(dim.error().message);
      result.push_back(std::move(*dim));
      begin = position_ + 1;
      if (c == close) {
        ++position_;
        return result;
      }
    }
    depth += c == '(' ? 1 : (c == ')' ? -1 : 0);
  }
  position_ = text_.size();
  return fail(fmt::format("'{}' expected", close));
}

Result<Extents> TextScanner::extents() {
  TENON_TRY(expect('['));
  Extents result;
  if (accept(']')) return result;
  do {
    TENON_ASSIGN(const int64_t extent, integer());
    if (extent < 0) return fail("an extent is negative");
    result.push_back(extent);
  } while (accept(','));
  TENON_TRY(expect(']'));
  return result;
}

Status TextScanner::element(Tensor& tensor, int64_t index) {
  const std::string_view text = token("+-.");
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto whole = [&](std::from_chars_result result) {
    return result.ec == std::errc() && result.ptr == end && begin != end;
  };
  uint64_t bits = 0;
  if (text.substr(0, 2) == "0x") {
    const int bytes = byte_size(tensor.type());
    if (!whole(std::from_chars(begin + 2, end, bits, 16)) ||
        (bytes < 8 && bits >> (8 * bytes) != 0))
      return fail("the bytes of an element expected");
    std::memcpy(tensor.mutable_bytes() + index * bytes, &bits, bytes);
    return {};
  }
  if (tensor.type() == DataType::kUInt64) {
    if (!whole(std::from_chars(begin, end, bits))) return fail("a number of 64 bits expected");
    tensor.mutable_values<uint64_t>()[index] = bits;
    return {};
  }
  if (is_real(tensor.type())) {
    double value = 0;
    if (!whole(std::from_chars(begin, end, value))) return fail("a number expected");
    tensor.set_from_double(index, value);
    return {};
  }
  int64_t value = 0;
  if (!whole(std::from_chars(begin, end, value))) return fail("an integer of 64 bits expected");
  tensor.set_from_int64(index, value);
  return {};
}

Result<Tensor> TextScanner::tensor(const WeightSource* weights) {
  if (accept_word("none")) return Tensor();
  TENON_ASSIGN(const DataType type, data_type());
  TENON_ASSIGN(Extents shape, extents());
  if (accept('#')) {
    const std::string_view hash = token("");
    if (weights == nullptr) return fail("a constant by hash, and no weights to find it in");
    auto found = weights->find(hash);
    if (!found.ok()) return fail(found.error().message);
    if (found->type() != type || found->extents() != shape)
      return fail("the constant of this hash has another type");
    return found;
  }
  if (element_count(shape) > kMaxWrittenElements)
    return fail("so many elements are given by hash only");
  TENON_ASSIGN(Tensor result, Tensor::create(type, std::move(shape)));
  TENON_TRY(expect('{'));
  for (int64_t i = 0; i < result.count(); ++i) {
    if (i > 0) TENON_TRY(expect(','));
    TENON_TRY(element(result, i));
  }
  TENON_TRY(expect('}'));
  return result;
}

std::string_view TextScanner::bare_tactic() {
  const size_t begin = position_;
  token(".-");
  if (position_ < text_.size() && text_[position_] == '{')
    position_ = std::min(text_.find('}', position_), text_.size() - 1) + 1;
  return text_.substr(begin, position_ - begin);
}

}  // namespace tenon
