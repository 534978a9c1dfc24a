// Quantization and its reverse with one known scale on NVIDIA GPUs.
#include <algorithm>

#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "ops/math.h"

namespace tenon::tactics::cuda_quantize_linear {
namespace {

constexpr int kBlock = 256;

bool is_real_type(DataType type) {
  return type == DataType::kFloat32 || is_half(type);
}

/// The one number that a constant operand holds; `otherwise` where there is none.
Result<double> number_of(const Problem& problem, int input, double otherwise) {
  if (!problem.has_input(input)) return otherwise;
  const Tensor* constant = problem.input(input).constant;
  if (constant == nullptr || constant->count() != 1)
    return unsupported("a scale that is not one known number");
  return constant->as_double(0);
}

/// Numbers of the wider side in 16 bytes, if they lie together on both: neighbouring threads read
/// and write neighbouring pieces.
int vector_width(const Problem& problem, const IndexLoop& loop) {
  const Operand &x = problem.input(0), &y = problem.output();
  int vector = 16 / std::max(byte_size(x.type), byte_size(y.type));
  vector = std::min({vector, pack_width(loop, x), pack_width(loop, y)});
  while (vector > 1 && y.count() % vector != 0) vector /= 2;
  return vector;
}

Status check(const Problem& problem, bool reverse) {
  const Operand &x = problem.input(0), &y = problem.output();
  const Operand &bytes = reverse ? x : y, &reals = reverse ? y : x;
  if (byte_type(bytes.type) == nullptr || !is_real_type(reals.type))
    return unsupported("other types");
  if (x.extents != y.extents || y.count() == 0) return unsupported("other extents");
  // Elements of other orders are transposed faster.
  if (x.rank() >= 3 && x.layout != y.layout) return unsupported("operands of different layouts");
  if (is_real(bytes.type) && capability_of(problem) < 89)
    return unsupported("its conversions need sm_89");
  return {};
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const auto* forward = problem.operation.as<Quantize>();
  const auto* reverse = problem.operation.as<Dequantize>();
  if (forward == nullptr && reverse == nullptr) return unsupported("not quantization");
  if ((forward != nullptr ? forward->block_size : reverse->block_size) != 0)
    return unsupported("scales of blocks");
  TENON_TRY(check(problem, reverse != nullptr));
  TENON_ASSIGN(const double scale, number_of(problem, 1, 1));
  TENON_ASSIGN(const double zero, number_of(problem, 2, 0));
  const Operand &x = problem.input(0), &y = problem.output();
  const bool rounds = forward != nullptr && is_integer(y.type);
  if (forward != nullptr && !rounds && (!forward->saturate || zero != 0))
    return unsupported("floats that do not saturate");
  KernelCode code = begin_code(problem);
  TENON_ASSIGN(const std::string types, device_source("jit/bytes.cuh"));
  code.text(types);
  code.alias("X", reverse != nullptr ? byte_type(x.type) : device_type(x.type));
  code.alias("Y", reverse != nullptr ? device_type(y.type) : byte_type(y.type));
  code.flags("kReverse kRounds", reverse != nullptr, rounds);
  add_quotient(code, scale);
  code.real("kZero", zero);
  code.real("kLow", y.type == DataType::kInt8 ? -128 : 0);
  code.real("kHigh", y.type == DataType::kInt8 ? 127 : 255);
  const IndexLoop loop = memory_loop(y);
  const int vector = vector_width(problem, loop);
  code.located("XAt", loop, x);
  code.located("YAt", loop, y);
  code.constants("kVector kCount kBlock", vector, y.count(), kBlock);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"quantize/linear.cu"},
                           blocks_for(y.count(), int64_t{vector} * kBlock), kBlock));
  launch.add({JitArgument::input(0), JitArgument::output()});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantize_linear

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantize_linear, single_config)
}  // namespace tenon::tactics
