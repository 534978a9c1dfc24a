#include "ops/scalar_steps.h"

#include <fmt/format.h>

#include <charconv>

#include "ops/pointwise_kernels.h"

namespace tenon {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool read_number(std::string_view word, double& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

template <class T> void apply(const ScalarStep& step, DataType type, T* row, int64_t count) {
  const T number = static_cast<T>(step.number);
  RowOperand operands[2] = {{row, 1}, {&number, 0}};
  if (step.number_first) std::swap(operands[0], operands[1]);
  real_kernel(step.function, type)(operands, row, count, step.alpha, step.beta);
}

}  // namespace

std::string to_string(const ScalarStep& step) {
  const std::string_view name = pointwise_info(step.function).name;
  if (step.has_number())
    return step.number_first ? fmt::format("{} {} x", name, step.number)
                             : fmt::format("{} x {}", name, step.number);
  if (step.alpha == 0 && step.beta == 0) return std::string(name);
  return fmt::format("{} {} {}", name, step.alpha, step.beta);
}

std::optional<ScalarStep> parse_scalar_step(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  const auto function = words.empty() ? std::nullopt : pointwise_by_name(words[0]);
  if (!function.has_value() || !can_be_step(*function)) return std::nullopt;
  ScalarStep step;
  step.function = *function;
  if (words.size() == 1 && !step.has_number()) return step;
  if (words.size() != 3) return std::nullopt;
  if (!step.has_number()) {
    const bool both = read_number(words[1], step.alpha) && read_number(words[2], step.beta);
    return both ? std::optional(step) : std::nullopt;
  }
  step.number_first = words[2] == "x";
  if (!step.number_first && words[1] != "x") return std::nullopt;
  const bool number = read_number(words[step.number_first ? 1 : 2], step.number);
  return number ? std::optional(step) : std::nullopt;
}

std::optional<std::vector<ScalarStep>> parse_scalar_steps(const std::vector<std::string>& texts) {
  std::vector<ScalarStep> steps;
  for (const std::string& text : texts) {
    const auto step = parse_scalar_step(text);
    if (!step.has_value()) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

bool can_be_step(PointwiseFunction function) {
  const PointwiseInfo& info = pointwise_info(function);
  return info.arity <= 2 &&
         (info.category == PointwiseClass::arithmetic || info.category == PointwiseClass::real);
}

void apply_scalar_step(const ScalarStep& step, float* row, int64_t count) {
  apply(step, DataType::kFloat32, row, count);
}
void apply_scalar_step(const ScalarStep& step, double* row, int64_t count) {
  apply(step, DataType::kFloat64, row, count);
}

}  // namespace tenon
