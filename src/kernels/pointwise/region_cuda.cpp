// Pointwise regions on NVIDIA GPUs: code generated from the region, for its extents and strides.
#include <algorithm>

#include "kernels/jit/quotient.h"
#include "kernels/jit/tactic.h"
#include "kernels/pointwise/launch_code.h"
#include "kernels/region.h"
#include "ops/math.h"
#include "ops/structure.h"

namespace tenon::tactics {
namespace cuda_pointwise {
namespace {

/// Kept in a byte each, which arithmetic would have to wrap below 8 bits.
bool is_narrow_integer(DataType type) {
  return type == DataType::kInt4 || type == DataType::kUInt4 || type == DataType::kInt2 ||
         type == DataType::kUInt2;
}

/// Single nodes that quantize have a kernel of their own.
bool is_taken(const Operation& operation) {
  if (is_pointwise_region(operation)) return true;
  if (!operation.is<Fused>()) return false;
  const auto nodes = operation.bodies()[0]->nodes();
  return std::all_of(nodes.begin(), nodes.end(), [](const auto& inner) {
    const auto* quantize = inner->template as<Quantize>();
    const bool saturates = quantize == nullptr || quantize->saturate;
    return inner->template is<Pointwise>() || inner->template is<Cast>() ||
           inner->template is<Dequantize>() || (quantize != nullptr && saturates);
  });
}

Status check(const Problem& problem) {
  if (!is_taken(problem.operation)) return unsupported("not pointwise");
  for (const Operand& output : problem.outputs)
    if (output.extents != problem.output().extents)
      return unsupported("outputs of different extents");
  for (const Operand& input : problem.inputs) {
    if (!input.present) return unsupported("an absent operand");
    if (input.rank() > problem.output().rank())
      return unsupported("an operand of more axes than the result");
  }
  return {};
}

Status check_types(const PointwiseProgram& program, const std::vector<CodeOperand>& operands) {
  for (const CodeOperand& operand : operands)
    if (is_narrow_integer(operand.type)) return unsupported("{}", name_of(operand.type));
  for (const auto& instruction : program.instructions)
    if (is_narrow_integer(instruction.to)) return unsupported("{}", name_of(instruction.to));
  return {};
}

/// Results all rounded to 16 bits, or quantized from such, do not show the last places of
/// divisions.
bool rounds_away(const Problem& problem, const PointwiseProgram& program) {
  const bool has_halves = std::any_of(problem.inputs.begin(), problem.inputs.end(),
                                      [](const Operand& input) { return is_half(input.type); });
  return std::all_of(problem.outputs.begin(), problem.outputs.end(), [&](const Operand& output) {
    const bool is_quantized = program.rounds() && has_halves && byte_type(output.type) != nullptr;
    return is_half(output.type) || is_quantized;
  });
}

/// Before sm_89 there are no conversions to floats of 8 bits.
Status check_conversions(const Problem& problem, const PointwiseProgram& program) {
  const auto is_float8 = [](DataType type) { return is_real(type) && byte_size(type) == 1; };
  const bool converts =
      std::any_of(program.instructions.begin(), program.instructions.end(),
                  [&](const auto& in) { return in.quantizes && is_float8(in.to); }) ||
      std::any_of(problem.inputs.begin(), problem.inputs.end(),
                  [&](const Operand& input) { return is_float8(input.type); });
  return converts && capability_of(problem) < 89 ? unsupported("its conversions need sm_89")
                                                 : Status{};
}

/// Every thread reads its elements of all inputs before it writes theirs, so that an input whose
/// elements lie as those of the only result may share its memory.
std::vector<std::pair<int, int>> aliases_of(const Problem& problem) {
  std::vector<std::pair<int, int>> aliases;
  const Operand& result = problem.output();
  for (size_t i = 0; i < problem.inputs.size() && problem.outputs.size() == 1; ++i) {
    const Operand& input = problem.inputs[i];
    if (input.constant == nullptr && input.type == result.type && input.extents == result.extents &&
        strides_of(input) == strides_of(result))
      aliases.emplace_back(static_cast<int>(i), 0);
  }
  return aliases;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_TRY(check(problem));
  TENON_ASSIGN(const PointwiseProgram program, make_rounding_program(problem));
  TENON_TRY(check_conversions(problem, program));
  std::vector<CodeOperand> operands;
  for (const Operand& input : problem.inputs) {
    const bool known = input.constant != nullptr && input.count() == 1;
    operands.push_back({input.type, input.alignment, known ? input.constant : nullptr});
  }
  for (const Operand& output : problem.outputs)
    operands.push_back({output.type, output.alignment, nullptr});
  TENON_TRY(check_types(program, operands));
  TENON_ASSIGN(const LoopCode code,
               make_loop_code(program, collapse_loops(problem), operands, resident_threads(problem),
                              all_axes_are_open(problem)));
  TENON_ASSIGN(JitLaunch launch, make_loop_launch(code, "pointwise"));
  if (rounds_away(problem, program))
    launch.options = {"--ftz=true", "--prec-div=false", "--prec-sqrt=false"};
  launch.add_inputs(code.parameters);
  for (size_t i = 0; i < problem.outputs.size(); ++i)
    launch.add(JitArgument::output(static_cast<int>(i)));
  return JitPlan{{std::move(launch)}, 0, {}, aliases_of(problem)};
}

}  // namespace
}  // namespace cuda_pointwise

TENON_JIT_TACTIC(cuda_pointwise, single_config)

}  // namespace tenon::tactics
