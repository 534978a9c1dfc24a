#include "kernels/jit/epilogue_code.h"

#include <fmt/format.h>

#include "kernels/jit/plan.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "ops/math.h"

namespace tenon {
namespace {

/// Bytes of a constant that every block may ask for; 0 where it is none, or large.
int64_t small_constant(const Operand& operand) {
  constexpr int64_t kSmall = 16384;
  const int64_t bytes = operand.constant == nullptr || !operand.dense()
                            ? 0
                            : operand.count() * static_cast<int64_t>(byte_size(operand.type));
  return bytes <= kSmall ? bytes : 0;
}

/// Writes the steps one after the other and keeps count of the operands. Operands that are given
/// with strides come before the region's.
class EpilogueWriter {
 public:
  EpilogueWriter(KernelCode& code, const Problem& problem, const AnchoredRegion& region,
                 const IndexLoop& loop)
      : code_(code), problem_(problem), region_(region), loop_(loop) {}

  Status steps(const std::vector<ExtraStep>& before) {
    for (const ExtraStep& extra : before)
      TENON_TRY(step({.function = extra.function, .operand = extra.operand}, &extra.strides));
    for (value_ = 0; value_ < region_.steps.size(); ++value_) {
      if (is_kept(value_))
        body_ += fmt::format("  Real kept{}[N];\n", value_) +
                 each(fmt::format("kept{}[i] = v[i];", value_));
      const RegionStep& next = region_.steps[value_];
      if (next.from > 0) body_ += each(fmt::format("v[i] = {};", value(next.from)));
      TENON_TRY(step(next, nullptr));
    }
    return region_.quantize == nullptr ? Status{} : quantize(*region_.quantize);
  }

  /// Rounding to the result's type comes last.
  Status quantize(const Node& node) {
    TENON_ASSIGN(const double scale, number_of(node.input(1), 1));
    TENON_ASSIGN(const double zero, number_of(node.has_input(2) ? node.input(2) : nullptr, 0));
    body_ += each(fmt::format("v[i] = {};",
                              quantized_expression("v[i]", problem_.output().type, scale, zero)));
    return {};
  }

  Status step(const RegionStep& step, const std::vector<int64_t>* strides) {
    // Results of 16 bits and fewer do not need every digit of some functions.
    const bool rough = byte_size(problem_.output().type) <= 2;
    if (rough && step.function == PointwiseFunction::k_gelu_tanh) {
      body_ += "  rough_gelu_tanh<N>(v);\n";
      return {};
    }
    TENON_TRY(add_step_function(code_, count_, step, rough));
    if (step.earlier >= 0) {
      const std::string other = value(step.earlier);
      body_ += each(fmt::format("v[i] = epilogue_step{}({});", count_++,
                                step.value_is_second ? other + ", v[i]" : "v[i], " + other));
      return {};
    }
    if (step.operand < 0) {
      body_ += each(fmt::format("v[i] = epilogue_step{}(v[i], Real(0));", count_++));
      return {};
    }
    TENON_TRY(operand(step.operand, strides));
    body_ += fmt::format("  {{\n    Real o[N];\n    widen_fetched<Epilogue{0}At, N>(f.o{0}, o);\n",
                         operands_.size() - 1);
    const char* operands = step.value_is_second ? "o[i], v[i]" : "v[i], o[i]";
    body_ += each(fmt::format("v[i] = epilogue_step{}({});", count_++, operands));
    body_ += "  }\n";
    return {};
  }

  std::vector<int> finish() {
    std::vector<EpilogueOperand> operands;
    for (const int operand : operands_)
      operands.push_back(epilogue_operand(problem_.input(operand)));
    add_epilogue_functions(code_, operands, body_);
    return std::move(operands_);
  }

 private:
  /// An element of the value that was the running one so many steps ago.
  std::string value(int steps_ago) const {
    return steps_ago == 0 ? "v[i]" : fmt::format("kept{}[i]", value_ - steps_ago);
  }
  /// Whether a step takes the value behind the first `number` steps when it is no longer the
  /// running one.
  bool is_kept(size_t number) const {
    for (size_t i = number; i < region_.steps.size(); ++i) {
      const auto ago = static_cast<int>(i - number);
      const RegionStep& step = region_.steps[i];
      if (ago > 0 && (step.from == ago || step.earlier == ago)) return true;
    }
    return false;
  }

  /// The one number that a constant of the problem holds.
  Result<double> number_of(const Value* value, double otherwise) const {
    if (value == nullptr) return otherwise;
    const int input = input_number(value);
    const Tensor* constant = input < 0 ? nullptr : problem_.input(input).constant;
    if (constant == nullptr || constant->count() != 1)
      return unsupported("a scale that is not one known number");
    return constant->as_double(0);
  }

  static std::string each(const std::string& statement) {
    return fmt::format("#pragma unroll\n  for (int i = 0; i < N; ++i) {}\n", statement);
  }

  Status operand(int index, const std::vector<int64_t>* given) {
    const Operand& operand = problem_.input(index);
    if (device_type(operand.type) == nullptr || !is_real(operand.type))
      return unsupported("an operand of the epilogue is {}", name_of(operand.type));
    const Extents& extents = problem_.output().extents;
    std::vector<int64_t> strides;
    if (given != nullptr) {
      strides = *given;
    } else {
      TENON_ASSIGN(strides, broadcast_strides(operand, extents));
    }
    code_.located(fmt::format("Epilogue{}At", operands_.size()), loop_, operand, strides);
    operands_.push_back(index);
    return {};
  }

  KernelCode& code_;
  const Problem& problem_;
  const AnchoredRegion& region_;
  const IndexLoop& loop_;
  size_t value_ = 0;  ///< Steps of the region before the one that is written.
  std::string body_;
  std::vector<int> operands_;
  int count_ = 0;
};

}  // namespace

Status add_result_type(KernelCode& code, const Problem& problem, const AnchoredRegion& region) {
  const DataType type = problem.output().type;
  const bool quantizes = region.quantize != nullptr;
  const char* name = quantizes ? byte_type(type) : device_type(type);
  if (name == nullptr) return unsupported("results of {}", name_of(type));
  if (quantizes) {
    const auto* op = region.quantize->as<Quantize>();
    const int capability =
        problem.device == nullptr ? 90 : problem.device->properties().compute_capability;
    if (op->block_size != 0) return unsupported("scales of blocks");
    if (is_real(type) && (!op->saturate || capability < 89))
      return unsupported("floats of 8 bits that do not saturate, or before sm_89");
    TENON_ASSIGN(const std::string bytes, device_source("jit/bytes.cuh"));
    code.text(bytes);
    code.allow_fast_math();
  }
  code.alias("Y", name);
  return {};
}

EpilogueOperand epilogue_operand(const Operand& operand) {
  return {device_type(operand.type), small_constant(operand)};
}

Status add_step_function(KernelCode& code, int number, const RegionStep& step, bool rough) {
  const PointwiseInfo& info = pointwise_info(step.function);
  if (info.category != PointwiseClass::arithmetic && info.category != PointwiseClass::real)
    return unsupported("{} in the epilogue", info.name);
  const bool rough_erf = rough && step.function == PointwiseFunction::k_gelu_erf;
  code.text(fmt::format(
      "__device__ inline Real epilogue_step{0}([[maybe_unused]] Real x, [[maybe_unused]] Real y) "
      "{{\n"
      "  typedef Real T;\n  [[maybe_unused]] const T z = y, alpha = T({1}), beta = T({2});\n"
      "  return {3};\n}}\n",
      number, device_real(step.alpha), device_real(step.beta),
      rough_erf ? "rough_gelu_erf(x)" : info.formula));
  return {};
}

void add_epilogue_functions(KernelCode& code, const std::vector<EpilogueOperand>& operands,
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
  code.text(fmt::format(
      "#define EPILOGUE_PARAMETERS {}\n#define EPILOGUE_ARGUMENTS {}\n#define "
      "EPILOGUE_EACH(DO){}\n"
      "template <int N>\nstruct EpilogueOperands {{\n{}}};\n"
      "template <int N>\n__device__ inline void fetch_epilogue([[maybe_unused]] "
      "EpilogueOperands<N>& f, [[maybe_unused]] Index at EPILOGUE_PARAMETERS) {{\n{}}}\n"
      "template <int N>\n__device__ inline void apply_epilogue(Real (&v)[N], [[maybe_unused]] "
      "const "
      "EpilogueOperands<N>& f) {{\n{}}}\n",
      parameters, arguments, all, fields, fetches, body));
  code.text(fmt::format(
      "__device__ inline void prefetch_constants(int EPILOGUE_PARAMETERS) {{\n{}}}\n", ahead));
  code.text(
      "template <int N>\n__device__ inline void epilogue(Real (&v)[N], Index at "
      "EPILOGUE_PARAMETERS) {\n  EpilogueOperands<N> operands;\n"
      "  fetch_epilogue<N>(operands, at EPILOGUE_ARGUMENTS);\n"
      "  apply_epilogue<N>(v, operands);\n}\n");
}

Result<std::vector<int>> add_epilogue(KernelCode& code, const Problem& problem,
                                      const AnchoredRegion& region, const IndexLoop& loop,
                                      const std::vector<ExtraStep>& before) {
  const DataType type = problem.output().type;
  if (region.quantize == nullptr) {
    if (device_type(type) == nullptr) return unsupported("results of {}", name_of(type));
    if (!is_real(type) && !region.steps.empty())
      return unsupported("an epilogue over {}", name_of(type));
  }
  code.alias("Real", region.quantize != nullptr ? "f32" : wide_type(type));
  EpilogueWriter writer(code, problem, region, loop);
  TENON_TRY(writer.steps(before));
  return writer.finish();
}

}  // namespace tenon
