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
