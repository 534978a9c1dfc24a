#include "kernels/jit/recorded_text.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "kernels/jit/text_writers.h"

namespace tenon {
namespace {

constexpr TextWriter kWriters[] = {
#define TENON_TEXT_FORM(form, writer) text_writers::writer,
#include "kernels/jit/text_forms.def"
};

template <class T> T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

TextRecord take_record(std::string_view& bytes) {
  const auto words = take<uint16_t>(bytes);
  const auto numbers = take<uint32_t>(bytes);
  TextRecord record{take<TextForm>(bytes), {}, {}};
  for (uint16_t i = 0; i < words; ++i) {
    const auto size = take<uint32_t>(bytes);
    record.words.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  for (uint32_t i = 0; i < numbers; ++i) record.numbers.push_back(take<int64_t>(bytes));
  return record;
}

}  // namespace

void RecordedText::record(TextForm form, std::span<const std::string_view> words,
                          std::span<const int64_t> numbers) {
  if (form == TextForm::kText && words.front().empty()) return;
  values_.resize(values_.size() - std::exchange(seal_bytes_, 0));
  size_t size = sizeof(uint16_t) + sizeof(uint32_t) + sizeof form + numbers.size_bytes();
  for (const std::string_view word : words) size += sizeof(uint32_t) + word.size();
  const size_t begin = values_.size();
  constexpr size_t kUsual = 4096;  // So that a kernel's values are seldom moved.
  if (values_.capacity() < begin + size) values_.reserve(std::max(kUsual, 2 * (begin + size)));
  values_.resize(begin + size);
  char* to = values_.data() + begin;
  const auto put = [&](const void* from, size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);  // No words are no address.
    to += bytes;
  };
  const auto word_count = static_cast<uint16_t>(words.size());
  const auto number_count = static_cast<uint32_t>(numbers.size());
  put(&word_count, sizeof word_count);
  put(&number_count, sizeof number_count);
  put(&form, sizeof form);
  for (const std::string_view word : words) {
    const auto length = static_cast<uint32_t>(word.size());
    put(&length, sizeof length);
    put(word.data(), word.size());
  }
  put(numbers.data(), numbers.size_bytes());
}

void RecordedText::seal() {
  static const uint64_t hash = [] {
    const std::string text = sample_of_forms().write();
    return XXH3_64bits(text.data(), text.size());
  }();
  const size_t before = unsealed().size();
  const auto number = std::bit_cast<int64_t>(hash);
  record(TextForm::kSeal, {}, {&number, 1});
  seal_bytes_ = values_.size() - before;
}

std::vector<TextRecord> RecordedText::records() const {
  std::vector<TextRecord> records;
  for (std::string_view rest = values_; !rest.empty();) records.push_back(take_record(rest));
  return records;
}

std::string RecordedText::write() const {
  std::string text;
  for (const TextRecord& record : records())
    kWriters[static_cast<size_t>(record.form)](record, text);
  return text;
}

RecordedText sample_of_forms() {
  constexpr int64_t kWide = int64_t{1} << 40;
  RecordedText sample;
  const auto add = [&](TextForm form, std::initializer_list<std::string_view> words,
                       std::initializer_list<int64_t> numbers) {
    sample.record(form, words, {numbers.begin(), numbers.size()});
  };
  sample.text("text");
  for (const int64_t value : {int64_t{0}, int64_t{-7}, kWide, -kWide})
    add(TextForm::kConstant, {"name"}, {value});
  for (const int64_t wide : {0, 1}) add(TextForm::kOpenConstant, {"name"}, {wide, 3});
  add(TextForm::kAlias, {"name", "type"}, {});
  for (const int64_t value : {0, 1}) add(TextForm::kFlag, {"name"}, {value});
  add(TextForm::kLocated, {"name"}, {16});
  add(TextForm::kLocated, {"name"}, {8, 5, kWide, -3, 1});
  add(TextForm::kActual, {"name"}, {0, 4, 1, 9, 1, kWide, 0, 5});
  for (const double factor : {0.0, -0.0, 0.1, -3.0, 1e300, -1e-300})
    add(TextForm::kStepFunction, {"formula"},
        {2, std::bit_cast<int64_t>(factor), std::bit_cast<int64_t>(-factor)});
  text_writers::add_epilogue_samples(sample);
  text_writers::add_group_product_samples(sample);
  return sample;
}

}  // namespace tenon
