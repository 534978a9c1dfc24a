// Views made real and concatenations on NVIDIA GPUs: one generated loop for each piece.
#include <algorithm>

#include "kernels/jit/tactic.h"
#include "kernels/movement/copy_parts.h"
#include "kernels/pointwise/launch_code.h"

namespace tenon::tactics {
namespace cuda_copy_strided {
namespace {

/// Bits are moved, whatever they mean.
DataType bits_of(int bytes) {
  switch (bytes) {
    case 1:
      return DataType::kUInt8;
    case 2:
      return DataType::kUInt16;
    case 4:
      return DataType::kUInt32;
    default:
      return DataType::kUInt64;
  }
}

int64_t alignment_at(const Operand& operand, int64_t offset) {
  const int64_t bytes = offset * byte_size(operand.type);
  int64_t alignment = operand.alignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

Result<JitLaunch> launch_of(const Problem& problem, const CopyPart& part) {
  const Operand& from = problem.input(part.input);
  const Operand& to = problem.output(part.output);
  Problem copy;
  copy.inputs.resize(1);
  copy.outputs.resize(1);
  copy.inputs[0] = {.present = true, .extents = part.extents, .strides = part.from_strides};
  copy.outputs[0] = {.present = true, .extents = part.extents, .strides = part.to_strides};
  PointwiseProgram program;
  program.inputs = 1;
  program.outputs = {0};
  const int bytes = byte_size(from.type);
  const std::vector<CodeOperand> operands = {
      {bits_of(bytes), alignment_at(from, part.from_offset), nullptr},
      {bits_of(bytes), alignment_at(to, part.to_offset), nullptr}};
  TENON_ASSIGN(const LoopCode code,
               make_loop_code(program, collapse_loops(copy), operands, resident_threads(problem)));
  TENON_ASSIGN(JitLaunch launch, make_loop_launch(code, "copy"));
  JitArgument source = JitArgument::input(part.input), target = JitArgument::output(part.output);
  source.offset = part.from_offset * bytes;
  target.offset = part.to_offset * bytes;
  launch.add(source);
  launch.add(target);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const std::vector<CopyPart> parts, copy_parts(problem));
  JitPlan plan;
  for (const CopyPart& part : parts) {
    TENON_ASSIGN(JitLaunch launch, launch_of(problem, part));
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace
}  // namespace cuda_copy_strided

TENON_JIT_TACTIC_BY(cuda_copy_strided, single_config, jit_support_with_empty)

}  // namespace tenon::tactics
