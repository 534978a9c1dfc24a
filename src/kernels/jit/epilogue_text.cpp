#include "kernels/jit/epilogue_text.h"

#include <fmt/format.h>

#include "kernels/jit/text_writers.h"

namespace tenon {
namespace {

std::string each(const std::string& statement) {
  return fmt::format("#pragma unroll\n  for (int i = 0; i < N; ++i) {}\n", statement);
}

/// An element of a kept value, or of the running one.
std::string element(int64_t kept) {
  return kept == kRunningValue ? "v[i]" : fmt::format("kept{}[i]", kept);
}

std::string call(int64_t function, const std::string& other, bool value_is_second) {
  return each(fmt::format("v[i] = epilogue_step{}({});", function,
                          value_is_second ? other + ", v[i]" : "v[i], " + other));
}

std::string statement(EpilogueStatement which, std::span<const int64_t> numbers,
                      std::string_view rounding) {
  const int64_t first = numbers[0], second = numbers[1];
  const bool value_is_second = numbers[2] != 0;
  switch (which) {
    case EpilogueStatement::kKeep:
      return fmt::format("  Real kept{}[N];\n", first) +
             each(fmt::format("kept{}[i] = v[i];", first));
    case EpilogueStatement::kReturn: return each(fmt::format("v[i] = {};", element(first)));
    case EpilogueStatement::kRoughGelu: return "  rough_gelu_tanh<N>(v);\n";
    case EpilogueStatement::kEarlier: return call(first, element(second), value_is_second);
    case EpilogueStatement::kAlone: return call(first, "Real(0)", false);
    case EpilogueStatement::kOperand:
      return fmt::format("  {{\n    Real o[N];\n    widen_fetched<Epilogue{0}At, N>(f.o{0}, o);\n",
                         second) +
             call(first, "o[i]", value_is_second) + "  }\n";
    case EpilogueStatement::kRound: return each(fmt::format("v[i] = {};", rounding));
  }
  return "";
}

}  // namespace

std::string epilogue_functions(const std::vector<EpilogueOperand>& operands,
                               const std::string& body) {
  std::string parameters, arguments, fields, fetches, all, ahead;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& [type, prefetched] = operands[i];
    parameters += fmt::format(", const {}* __restrict__ e{}", type, i);
    arguments += fmt::format(", e{}", i);
    all += fmt::format(" DO({}, {})", i, type);
    if (prefetched > 0) ahead += fmt::format("  prefetch_bytes(e{}, {});\n", i, prefetched);
    fields += fmt::format("  Fetched<Epilogue{0}At, N, {1}> o{0};\n", i, type);
    fetches += fmt::format("  fetch_located<Epilogue{0}At, N>(e{0}, at, f.o{0});\n", i);
  }
  return fmt::format(
             "#define EPILOGUE_PARAMETERS {}\n#define EPILOGUE_ARGUMENTS {}\n#define "
             "EPILOGUE_EACH(DO){}\n"
             "template <int N>\nstruct EpilogueOperands {{\n{}}};\n"
             "template <int N>\n__device__ inline void fetch_epilogue([[maybe_unused]] "
             "EpilogueOperands<N>& f, [[maybe_unused]] Index at EPILOGUE_PARAMETERS) {{\n{}}}\n"
             "template <int N>\n__device__ inline void apply_epilogue(Real (&v)[N], "
             "[[maybe_unused]] const EpilogueOperands<N>& f) {{\n{}}}\n",
             parameters, arguments, all, fields, fetches, body) +
         fmt::format(
             "__device__ inline void prefetch_constants(int EPILOGUE_PARAMETERS) {{\n{}}}\n",
             ahead) +
         "template <int N>\n__device__ inline void epilogue(Real (&v)[N], Index at "
         "EPILOGUE_PARAMETERS) {\n  EpilogueOperands<N> operands;\n"
         "  fetch_epilogue<N>(operands, at EPILOGUE_ARGUMENTS);\n"
         "  apply_epilogue<N>(v, operands);\n}\n";
}

namespace text_writers {

void write_epilogue(const TextRecord& record, std::string& text) {
  std::vector<EpilogueOperand> operands;
  for (size_t i = 1; i < record.words.size(); ++i)
    operands.push_back({record.words[i], record.numbers[i - 1]});
  std::string body;
  for (size_t at = operands.size(); at < record.numbers.size(); at += 4)
    body += statement(static_cast<EpilogueStatement>(record.numbers[at]),
                      std::span(record.numbers).subspan(at + 1, 3), record.words[0]);
  text += epilogue_functions(operands, body);
}

void add_epilogue_samples(RecordedText& sample) {
  constexpr auto kLast = static_cast<int64_t>(EpilogueStatement::kRound);
  std::vector<int64_t> numbers{0, 64};
  for (int64_t which = 0; which <= kLast; ++which)
    for (const int64_t kept : {kRunningValue, int64_t{1}})
      for (const int64_t is_second : {0, 1})
        numbers.insert(numbers.end(), {which, 1, kept, is_second});
  const std::string_view words[] = {"rounded", "f16", "f32"};
  sample.record(TextForm::kEpilogue, words, numbers);
}

}  // namespace text_writers
}  // namespace tenon
