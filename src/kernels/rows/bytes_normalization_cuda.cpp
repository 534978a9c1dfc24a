// Layer and RMS normalization of rows, or of sums of them, that gives numbers of 8 bits alone, with
// known scales and biases (rows/normalize_bytes.cu).
#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/jit/byte_factors.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/rows/normalized_sum_cuda.h"

namespace tenon::tactics {
namespace cuda_normalize_bytes {
namespace {

/// Threads on a multiprocessor, by rows that a group takes at a time.
int64_t threads_each(int64_t rows) {
  return rows == 2 ? 768 : 512;
}

/// One known number for each column, or none.
bool fits(const Problem& problem, int input, int64_t columns) {
  if (input < 0) return true;
  const Operand& operand = problem.input(input);
  return operand.constant != nullptr && operand.constant->count() == columns &&
         operand.extents.back() == columns;
}

Status check(const Problem& problem, const NormalizedSum& d) {
  if (d.output >= 0 || d.bytes_output < 0) return unsupported("more than bytes are wanted");
  const Operand& y = problem.output(d.bytes_output);
  if (byte_type(y.type) == nullptr) return unsupported("quantization to {}", name_of(y.type));
  if (is_real(y.type) && capability_of(problem) < 89)
    return unsupported("its conversions need sm_89");
  if (d.op->axis != -1 && d.op->axis != y.rank() - 1) return unsupported("rows of several axes");
  if (d.op->compute != DataType::kFloat32) return unsupported("statistics in another type");
  if (y.layout != Layout::kRowMajor) return unsupported("no whole rows");
  for (const auto& [input, node_input] : {std::pair(d.scale, 1), std::pair(d.bias, 2)})
    if ((input < 0 && d.anchor->has_input(node_input)) || !fits(problem, input, y.extents.back()))
      return unsupported("scale or bias is no constant row");
  return {};
}

Result<ByteFactors> factors_of(const Problem& problem, const NormalizedSum& d) {
  const Operand& y = problem.output(d.bytes_output);
  ByteFactors factors{
      .scale = d.scale, .bias = d.bias, .type = y.type, .columns = y.extents.back()};
  TENON_ASSIGN(factors.quantum, quantization_number(problem, *d.quantize, 1));
  if (d.quantize->has_input(2)) {
    TENON_ASSIGN(factors.zero, quantization_number(problem, *d.quantize, 2));
  }
  return factors;
}

/// The columns of two numbers of each thread side by side, then those of the next two.
std::vector<int64_t> order_of(const RowGroups& groups) {
  std::vector<int64_t> order;
  const int64_t step = int64_t{groups.group} * groups.vector;
  for (int64_t first = 0; first < groups.length; first += step)
    for (int64_t i = 0; i < groups.vector; i += 2)
      for (int64_t lane = 0; lane < groups.group; ++lane)
        for (const int64_t next : {0, 1}) order.push_back(first + lane * groups.vector + i + next);
  return order;
}

/// RowInput: kVector elements of a row as they lie in memory, and their sum, which may be a result.
void add_row_inputs(KernelCode& code, const Problem& problem, const IndexLoop& loop,
                    const NormalizedSum& d) {
  std::string members, fetch, take, parameters, arguments;
  const Extents& extents = problem.output(d.bytes_output).extents;
  for (size_t i = 0; i < d.terms.size(); ++i) {
    const Operand& operand = problem.input(d.terms[i]);
    const char* type = device_type(operand.type);
    // Callers have made sure that it broadcasts.
    code.located(fmt::format("Input{}At", i), loop, operand,
                 broadcast_strides(operand, extents).value());
    parameters += fmt::format(", const {}* __restrict__ from{}", type, i);
    arguments += fmt::format(", from{}", i);
    members += fmt::format("  Fetched<Input{0}At, kVector, {1}> x{0};\n", i, type);
    fetch += fmt::format("    fetch_located<Input{0}At, kVector>(from{0}, at, x{0});\n", i);
    take += i == 0 ? std::string("    widen_row<Input0At, kVector>(x0, v);\n")
                   : fmt::format(
                         "    widen_row<Input{0}At, kVector>(x{0}, more);\n"
                         "    for (int i = 0; i < kVector; ++i) v[i] += more[i];\n",
                         i);
  }
  if (d.sum_output >= 0) {
    const Operand& sum = problem.output(d.sum_output);
    code.located("SumAt", loop, sum);
    parameters += fmt::format(", {}* __restrict__ sum_result", device_type(sum.type));
    arguments += ", sum_result";
    take += "    if (store) store_located<SumAt, kVector>(sum_result, at, v);\n";
  }
  code.text(
      fmt::format("#define INPUT_PARAMETERS {}\n#define INPUT_ARGUMENTS {}\nstruct RowInput {{\n{}"
                  "  __device__ void fetch(Index at INPUT_PARAMETERS) {{\n{}  }}\n"
                  "  __device__ void take(float (&v)[kVector], Index at, bool store "
                  "INPUT_PARAMETERS) const {{\n"
                  "    [[maybe_unused]] float more[kVector];\n{}  }}\n}};\n",
                  parameters, arguments, members, fetch, take));
}

/// Groups of few columns a thread, which take `together` rows at a time: they ask for factors less
/// often.
RowGroups wide_groups(const RowGroups& narrow, int64_t together) {
  RowGroups groups = narrow;
  const int64_t vectors = blocks_for(narrow.length, narrow.vector);
  if (together == 1 || vectors > 1024) return groups;
  groups.group = static_cast<int>(std::max<int64_t>(narrow.group, round_up(vectors, 32)));
  if (groups.group > 32) groups.block = groups.group;
  return groups;
}

std::vector<std::string> row_counts(const Problem&) {
  return {"rows=1", "rows=2", "rows=4"};
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const NormalizedSum d, describe_normalized_sum(problem.operation));
  TENON_TRY(check_normalized_sum(problem, d));
  TENON_TRY(check(problem, d));
  TENON_ASSIGN(ByteFactors factors, factors_of(problem, d));
  const Operand& y = problem.output(d.bytes_output);
  std::vector<bool> reduced(static_cast<size_t>(y.rank()), false);
  reduced.back() = true;
  const SplitLoop split = split_loop(y, reduced);
  const IndexLoop loop = joined(split.kept, split.reduced);
  TENON_ASSIGN(const int vector, normalized_vector(problem, d, split));
  if (vector % 4 != 0) return unsupported("rows that do not lie in words of four");
  const int64_t together = config_number(config, "rows").value_or(1);
  if (together < 1 || together > 8) return user_error("no rows: {}", config);
  const RowGroups groups = wide_groups(
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector), together);
  // With factors and the next row.
  constexpr int64_t kMostOfThread = 32;
  if (groups.length > groups.group * kMostOfThread)
    return unsupported("rows of {}; takes {}", groups.length, groups.group * kMostOfThread);
  factors.order = order_of(groups);
  KernelCode code = begin_code(problem);
  code.allow_fast_math();  // Results of 8 bits are rounded even more.
  add_byte_places(code, y.type);
  TENON_ASSIGN(const std::string types, device_source("jit/bytes.cuh"));
  code.text(types);
  code.alias("Bytes", byte_type(y.type));
  code.located("BytesAt", loop, y);
  code.flag("kByteIntegers", !is_real(y.type));
  code.text(fmt::format("#define kByteStart {}\n", is_real(y.type) ? "0.0f" : "BYTE_START"));
  code.flag("kRms", d.op->norm == NormKind::kRms);
  code.real("kEpsilon", d.op->epsilon);
  add_groups(code, groups);
  const int64_t each = std::max<int64_t>(1, threads_each(together) / groups.block);
  code.constants("kBlocksEach kTogether", each, together);
  TENON_ASSIGN(const std::string halves, device_source("rows/halves.cuh"));
  code.text(halves);
  add_row_inputs(code, problem, loop, d);
  const int64_t rows = groups.block / groups.group * together;  // Of a block, at a time.
  const int64_t blocks =
      std::min(blocks_for(groups.rows, rows), int64_t{multiprocessors(problem)} * each);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/group.cuh", "rows/normalize_bytes.cu"},
                                             blocks, groups.block));
  launch.add({JitArgument::output(d.bytes_output), JitArgument::constant(0)});
  launch.add_inputs(d.terms);
  if (d.sum_output >= 0) launch.add(JitArgument::output(d.sum_output));
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back(byte_factors(problem, factors));
  return plan;
}

}  // namespace
}  // namespace cuda_normalize_bytes

TENON_JIT_TACTIC(cuda_normalize_bytes, cuda_normalize_bytes::row_counts)

}  // namespace tenon::tactics
