// Layer and RMS normalization of a sum of tensors on NVIDIA GPUs; the sum itself is a second result
// where it is wanted. Or of one tensor or a sum, quantized, with reals as a second result.
#include <algorithm>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/region.h"
#include "kernels/rows/normalized_sum_cuda.h"

namespace tenon::tactics {
namespace cuda_normalize_sum {
namespace {

/// Definitions for store_bytes() of normalize.cu: type and places of the result, scale, zero point.
Status add_bytes(KernelCode& code, const Problem& problem, const NormalizedSum& d,
                 const IndexLoop& loop) {
  code.flag("kGivesReals", d.output >= 0);
  code.text(fmt::format("#define WITH_BYTES {}\n", d.quantize != nullptr ? 1 : 0));
  if (d.quantize == nullptr) return {};
  const Operand& bytes = problem.output(d.bytes_output);
  const bool e4m3 = bytes.type == DataType::kFloat8E4M3, e5m2 = bytes.type == DataType::kFloat8E5M2;
  const bool is_signed = bytes.type == DataType::kInt8;
  if (!e4m3 && !e5m2 && !is_signed && bytes.type != DataType::kUInt8)
    return unsupported("quantization to {}", name_of(bytes.type));
  if ((e4m3 || e5m2) && capability_of(problem) < 89)
    return unsupported("its conversions need sm_89");
  TENON_ASSIGN(const double scale, quantization_number(problem, *d.quantize, 1));
  double zero = 0;
  if (d.quantize->has_input(2)) {
    TENON_ASSIGN(zero, quantization_number(problem, *d.quantize, 2));
  }
  TENON_ASSIGN(const std::string types, device_source("jit/bytes.cuh"));
  code.text(types);
  code.alias("Bytes", e4m3 ? "e4m3" : e5m2 ? "e5m2" : device_type(bytes.type));
  code.located("BytesAt", loop, bytes);
  add_quotient(code, scale);
  code.real("kByteZero", zero);
  code.flag("kByteIntegers", !e4m3 && !e5m2);
  code.real("kByteLow", is_signed ? -128 : 0);
  code.real("kByteHigh", is_signed ? 127 : 255);
  return {};
}

/// The problem as what gives reals only sees it: epilogues compute in the type of the first result.
Problem with_reals(const Problem& problem, const NormalizedSum& d) {
  Problem shown = problem;
  for (Operand& output : shown.outputs)
    if (byte_size(output.type) == 1) output.type = DataType::kFloat32;
  if (d.output >= 0) std::swap(shown.outputs[0], shown.outputs[d.output]);
  return shown;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const NormalizedSum d, describe_normalized_sum(problem.operation));
  TENON_TRY(check_normalized_sum(problem, d));
  const Problem shown = with_reals(problem, d);
  const Operand& y = shown.output();
  std::vector<bool> reduced(static_cast<size_t>(y.rank()), false);
  for (int64_t i = d.op->axis < 0 ? d.op->axis + y.rank() : d.op->axis; i < y.rank(); ++i)
    reduced[i] = true;
  const SplitLoop split = split_loop(y, reduced);
  const IndexLoop loop = joined(split.kept, split.reduced);
  TENON_ASSIGN(const int vector, normalized_vector(problem, d, split));
  const RowGroups groups =
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector);
  if (groups.length > int64_t{groups.group} * 64)
    return unsupported("rows of {}; takes {}", groups.length, int64_t{groups.group} * 64);
  KernelCode code = begin_code(problem);
  code.type("Y", y.type);
  code.round_to(y.type);
  if (d.output < 0) code.allow_fast_math();  // Results of 8 bits are rounded even more.
  code.text("#define WITH_STATISTICS 0\n");
  TENON_TRY(add_bytes(code, problem, d, loop));
  code.flag("kRms", d.op->norm == NormKind::kRms);
  code.real("kEpsilon", d.op->epsilon);
  code.located("YAt", loop, y);
  add_groups(code, groups);
  std::vector<ExtraStep> factors;
  for (const auto& [input, function] : {std::pair(d.scale, PointwiseFunction::k_mul),
                                        std::pair(d.bias, PointwiseFunction::k_add)}) {
    if (input < 0) continue;
    TENON_ASSIGN(auto strides, broadcast_strides(problem.input(input), y.extents));
    factors.push_back({function, input, std::move(strides)});
  }
  const AnchoredRegion region{.anchor = *d.anchor};
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, shown, region, loop, factors));
  add_row_input(code, problem, loop, d.terms, d.sum_output);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/group.cuh", "rows/normalize.cu"},
                                             groups.blocks(), groups.block));
  launch.add(d.output >= 0 ? JitArgument::output(d.output) : JitArgument::null());
  launch.add_inputs(d.terms);
  if (d.sum_output >= 0) launch.add(JitArgument::output(d.sum_output));
  if (d.bytes_output >= 0) launch.add(JitArgument::output(d.bytes_output));
  launch.add_inputs(operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_normalize_sum

TENON_JIT_TACTIC(cuda_normalize_sum, single_config)

}  // namespace tenon::tactics
