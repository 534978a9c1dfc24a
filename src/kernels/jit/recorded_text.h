#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/source_text.h"

namespace tenon {

/// Ways to write values as device code: rows of text_forms.def.
enum class TextForm : uint8_t {
#define TENON_TEXT_FORM(form, writer) form,
#include "kernels/jit/text_forms.def"
};

/// One piece of a text: words and numbers, which a form gives a meaning.
struct TextRecord {
  TextForm form;
  std::vector<std::string_view> words;
  std::vector<int64_t> numbers;
};

/// Device code as the values that it is written from. Code is known by these, and most of it is
/// never written, since a plan has it compiled. Same values, same text.
class RecordedText final : public UnwrittenText {
 public:
  void record(TextForm form, std::initializer_list<std::string_view> words,
              std::span<const int64_t> numbers = {}) {
    record(form, {words.begin(), words.size()}, numbers);
  }
  void record(TextForm form, std::span<const std::string_view> words,
              std::span<const int64_t> numbers);
  /// An empty one leaves no trace.
  void text(std::string_view text) { record(TextForm::kText, {text}); }

  /// From now on, until something is recorded, its values say also how this library writes, so that
  /// code of a version that writes otherwise is not taken for its own.
  void seal();

  bool empty() const { return values_.size() == seal_bytes_; }
  /// Without seals.
  bool operator==(const RecordedText& other) const { return unsealed() == other.unsealed(); }
  std::vector<TextRecord> records() const;

  std::string_view values() const override { return values_; }
  std::string write() const override;

 private:
  std::string_view unsealed() const {
    return std::string_view(values_).substr(0, values_.size() - seal_bytes_);
  }

  std::string values_;
  size_t seal_bytes_ = 0;  ///< At their end.
};

/// Each form at work, in all of its branches: the seal is this text's hash.
RecordedText sample_of_forms();

}  // namespace tenon
