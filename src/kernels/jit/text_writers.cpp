#include "kernels/jit/text_writers.h"

#include <fmt/format.h>

#include <bit>

#include "kernels/jit/kernel_code.h"

namespace tenon::text_writers {
namespace {

/// "{4, 3}"; of none "{0}".
void add_list(std::span<const int64_t> values, std::string& text) {
  text += '{';
  for (const int64_t value : values) {
    if (text.back() != '{') text += ", ";
    text += std::to_string(value);
  }
  text += values.empty() ? "0}" : "}";
}

void add_lookup(std::string_view name, std::span<const int64_t> values, std::string& text) {
  text += fmt::format(
      "  template <int i>\n  __device__ static constexpr Index {}() {{\n    constexpr Index v[] = ",
      name);
  add_list(values, text);
  text += ";\n    return v[i];\n  }\n";
}

/// A function of Actual (prelude.cuh): pairs of whether a number is open, and it or its place.
void add_reads(std::string_view name, std::span<const int64_t> values, std::string& text) {
  text += fmt::format("  template <int i>\n  __device__ static Index {}() {{\n", name);
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    const int64_t value = values[i + 1];
    text += fmt::format(
        "    if constexpr (i == {}) return Index({});\n", i / 2,
        values[i] != 0 ? fmt::format("open_constant<i64, {}>()", value) : std::to_string(value));
  }
  text += "    return 0;\n  }\n";
}

}  // namespace

void write_text(const TextRecord& record, std::string& text) {
  text += record.words[0];
}

void write_nothing(const TextRecord&, std::string&) {}

void write_constant(const TextRecord& record, std::string& text) {
  const int64_t value = record.numbers[0];
  const bool wide = value > INT32_MAX || value < INT32_MIN;
  text += fmt::format("enum : {} {{ {} = {} }};\n", wide ? "i64" : "int", record.words[0], value);
}

void write_open_constant(const TextRecord& record, std::string& text) {
  text += fmt::format("#define {} (open_constant<{}, {}>())\n", record.words[0],
                      record.numbers[0] != 0 ? "i64" : "int", record.numbers[1]);
}

void write_alias(const TextRecord& record, std::string& text) {
  text += fmt::format("using {} = {};\n", record.words[0], record.words[1]);
}

void write_flag(const TextRecord& record, std::string& text) {
  text += fmt::format("enum : bool {{ {} = {} }};\n", record.words[0], record.numbers[0] != 0);
}

void write_located(const TextRecord& record, std::string& text) {
  const std::span<const int64_t> values = std::span(record.numbers).subspan(1);
  const size_t rank = values.size() / 2;
  text += fmt::format("struct {} {{\n  enum : int {{ kRank = {}, kAlignment = {} }};\n",
                      record.words[0], rank, record.numbers[0]);
  add_lookup("extent", values.first(rank), text);
  add_lookup("stride", values.subspan(rank), text);
  text += "};\n";
}

void write_actual(const TextRecord& record, std::string& text) {
  const std::span<const int64_t> values = record.numbers;
  text += fmt::format("template <>\nstruct Actual<{}> {{\n", record.words[0]);
  add_reads("extent", values.first(values.size() / 2), text);
  add_reads("stride", values.subspan(values.size() / 2), text);
  text += "};\n";
}

void write_step_function(const TextRecord& record, std::string& text) {
  const auto real = [&](size_t i) { return device_real(std::bit_cast<double>(record.numbers[i])); };
  text += fmt::format(
      "__device__ inline Real epilogue_step{0}([[maybe_unused]] Real x, [[maybe_unused]] Real y) "
      "{{\n"
      "  typedef Real T;\n  [[maybe_unused]] const T z = y, alpha = T({1}), beta = T({2});\n"
      "  return {3};\n}}\n",
      record.numbers[0], real(1), real(2), record.words[0]);
}

}  // namespace tenon::text_writers
