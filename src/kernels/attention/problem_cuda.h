#pragma once

#include "kernels/jit/plan.h"
#include "ops/nn.h"

/// Attention as the CUDA kernels of our own see it.
namespace tenon::attention {

enum Input { kQ, kK, kV, kMask };

/// An operand as [batch, heads, length, size] with strides.
struct View {
  int64_t batch = 1, heads = 1, length = 1, size = 1;
  int64_t batch_step = 0, head_step = 0, position_step = 0, element_step = 1;
};

struct DeviceAttention {
  const Attention* op = nullptr;
  View q, k, v, out;
};

/// Of a region of attention and the quantization of its result, in that order, attention alone,
/// with a result of the operands' type that lies as the region's does; other problems as they are.
Result<Problem> attention_alone(const Problem& problem);
/// Result type `Y` and, where the problem is such a region, the function quantized(), whose results
/// conversions of jit/bytes.cuh take.
Status add_result(KernelCode& code, const Problem& problem);

/// Fails, with the reason, for problems that the kernels do not take.
Result<DeviceAttention> describe(const Problem& problem);

/// The rows of attention/limits_cuda.def.
enum class DeviceKernel : uint8_t {
#define TENON_ATTENTION_LIMITS(kernel, ...) kernel,
#include "kernels/attention/limits_cuda.def"
};
/// Fails, with the reason, for problems that one of them does not take.
Status check_limits(DeviceKernel kernel, const Problem& problem, const DeviceAttention& d);

/// Types, strides and extents that all of the kernels take.
void add_constants(KernelCode& code, const Problem& problem, const DeviceAttention& d);

/// Steps and addresses are multiples of `elements`.
bool steps_divide(const View& view, const Operand& operand, int64_t elements);

}  // namespace tenon::attention
