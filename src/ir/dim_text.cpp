// Printing and reading of extents.
#include <fmt/format.h>

#include <charconv>

#include "base/ascii.h"
#include "ir/dim_expression.h"

namespace tenon {
namespace {

constexpr std::string_view kSmallest = "-9223372036854775808";  // INT64_MIN

bool is_word_start(char c) {
  return is_letter(c) || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c) || c == '.';
}

std::string term_text(const DimTerm& term) {
  std::string text;
  if (term.coefficient == -1)
    text = "-";
  else if (term.coefficient != 1)
    text = std::to_string(term.coefficient) + "*";
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i > 0) text += '*';
    text += term.factors[i]->key;
  }
  return text;
}

/// In parentheses unless it is one symbol or a number that is not negative.
std::string operand_text(const Dim& dim) {
  const bool bare = dim.is_constant() ? dim.constant() >= 0 : dim.as_symbol().has_value();
  return bare ? dim.to_string() : fmt::format("({})", dim.to_string());
}

/// Recursive descent over: sum = product (+- product)*, product = factor ([*/%] factor)*.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Dim> parse() {
    TENON_ASSIGN(Dim result, sum());
    skip_spaces();
    if (position_ != text_.size()) return fail("end of the expression expected");
    return result;
  }

 private:
  static constexpr int kMaxDepth = 4 * kMaxDimDepth;  // Texts have two parentheses a level.

  Error fail(std::string_view what) const {
    return user_error("extent \"{}\", column {}: {}", text_, position_ + 1, what);
  }
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  char peek() {
    skip_spaces();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || c == '\0') return false;
    ++position_;
    return true;
  }

  Result<Dim> sum() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    TENON_ASSIGN(Dim result, product());
    while (true) {
      const bool plus = accept('+');
      if (!plus && peek() != '-') break;
      // The smallest number is read with its sign: without it, it is too large.
      const bool signed_number = !plus && text_.substr(position_).starts_with(kSmallest);
      if (!plus && !signed_number) ++position_;
      TENON_ASSIGN(const Dim next, product());
      result = plus || signed_number ? result + next : result - next;
    }
    --depth_;
    return result;
  }

  Result<Dim> product() {
    TENON_ASSIGN(Dim result, factor());
    while (true) {
      const char operation = peek();
      if (operation != '*' && operation != '/' && operation != '%') return result;
      ++position_;
      TENON_ASSIGN(const Dim next, factor());
      result = operation == '*'   ? result * next
               : operation == '/' ? floor_div(result, next)
                                  : mod(result, next);
    }
  }

  Result<Dim> factor() {
    const char c = peek();
    if (c == '-') return negative();
    if (accept('(')) return closed(sum());
    if (c == '"') return quoted();
    if (is_digit(c)) return number();
    if (is_word_start(c)) return word();
    return fail("a number, a symbol or '(' expected");
  }

  Result<Dim> negative() {
    ++position_;
    if (is_digit(peek())) {
      --position_;  // So that the smallest number can be read.
      if (text_[position_] == '-') return number();
      ++position_;
    }
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    TENON_ASSIGN(const Dim operand, factor());
    --depth_;
    return operand * Dim(-1);
  }

  Result<Dim> closed(Result<Dim> inner) {
    if (inner.ok() && !accept(')')) return fail("')' expected");
    return inner;
  }

  Result<Dim> number() {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail("a number within 64 bits expected");
    position_ = end - text_.data();
    return Dim(value);
  }

  Result<Dim> quoted() {
    std::string name;
    for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      name += text_[position_];
    }
    if (position_ == text_.size()) return fail("'\"' expected");
    ++position_;
    return Dim::symbol(name);
  }

  Result<Dim> word() {
    const size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    const std::string_view name = text_.substr(begin, position_ - begin);
    const bool is_min = name == "min";
    if ((!is_min && name != "max") || !accept('(')) return Dim::symbol(name);
    TENON_ASSIGN(const Dim a, sum());
    if (!accept(',')) return fail("',' expected");
    TENON_ASSIGN(const Dim b, closed(sum()));
    return is_min ? min(a, b) : max(a, b);
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string symbol_text(std::string_view name) {
  bool bare = !name.empty() && is_word_start(name[0]);
  for (const char c : name) bare = bare && is_word(c);
  if (bare) return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string atom_text(AtomKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case AtomKind::kMin: return fmt::format("min({},{})", a.to_string(), b.to_string());
    case AtomKind::kMax: return fmt::format("max({},{})", a.to_string(), b.to_string());
    case AtomKind::kFloorDiv: return fmt::format("({}/{})", operand_text(a), operand_text(b));
    case AtomKind::kMod: return fmt::format("({}%{})", operand_text(a), operand_text(b));
    default: return fmt::format("({}*{})", operand_text(a), operand_text(b));
  }
}

std::string expression_text(const Dim::Expression& expression) {
  std::string text;
  for (const DimTerm& term : expression.terms) {
    if (!text.empty() && term.coefficient > 0) text += '+';
    text += term_text(term);
  }
  if (expression.constant > 0) text += '+';
  if (expression.constant != 0) text += std::to_string(expression.constant);
  return text;
}

Result<Dim> Dim::parse(std::string_view text) {
  return Parser(text).parse();
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += shape[i].to_string();
  }
  return text + "]";
}

}  // namespace tenon
