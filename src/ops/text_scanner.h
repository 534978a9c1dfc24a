#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Reads the words and literals of the IR's text. Errors name line and column.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  Error fail(std::string_view what) const;
  /// Next character after spaces and comments; 0 at the end.
  char peek();
  bool at_end() { return peek() == '\0' && position_ >= text_.size(); }
  /// Consumes the character if it comes next.
  bool accept(char c);
  /// Consumes the text if it comes next, without skipping spaces.
  bool accept_adjacent(std::string_view text);
  /// Consumes the word if it comes next.
  bool accept_word(std::string_view word);
  Status expect(char c);
  Result<std::string> word();
  Result<std::string> quoted();
  Result<int64_t> integer();
  Result<double> real();
  Result<DataType> data_type();
  /// [a,b,...] of extents, or another pair of brackets.
  Result<std::vector<Dim>> dims(char open, char close);
  /// [1,2,...] of numbers that are not negative.
  Result<Extents> extents();
  /// f32[2]{1,2} or f32[64,3]#hash; `none`.
  Result<Tensor> tensor(const class WeightSource* weights);
  /// The characters up to white space, braces closed.
  std::string_view bare_tactic();

 private:
  std::string_view token(std::string_view extra);
  Status element(Tensor& tensor, int64_t index);

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace tenon
