#pragma once

#include <array>

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
  bool of_bytes = false;  ///< Queries, keys and values have 8 bits.
};

/// Attention, or a region of it with the dequantization of queries, keys and values, the
/// quantization of its result, or both.
struct AttentionParts {
  /// Attention alone: operands that are dequantized are bytes, the result is real and lies as the
  /// whole problem's does.
  Problem alone;
  std::array<int, 4> inputs = {kQ, kK, kV, kMask};  ///< Of the whole problem, by operand.
  /// A byte stands for itself less the zero point, times the scale.
  std::array<double, 3> scales = {1, 1, 1}, zeros = {0, 0, 0};
  const Node* quantize = nullptr;  ///< Of the result, or null.
};
/// Fails, with the reason, for other regions.
Result<AttentionParts> attention_parts(const Problem& problem);

/// Result type `Y` and, where the result is quantized, the function quantized(), whose results
/// conversions of jit/bytes.cuh take. That source comes along where any operand or result has 8
/// bits.
Status add_result(KernelCode& code, const Problem& problem, const AttentionParts& parts);
/// As device code and as tensor cores say it; null for types of other sizes.
const char* byte_type(DataType type);
const char* byte_product_type(DataType type);

/// Fails, with the reason, for problems that the kernels do not take.
Result<DeviceAttention> describe(const Problem& problem);

/// The rows of attention/limits_cuda.def.
enum class DeviceKernel : uint8_t {
#define TENON_ATTENTION_LIMITS(kernel, ...) kernel,
#include "kernels/attention/limits_cuda.def"
};
/// Fails, with the reason, for problems that one of them does not take.
Status check_limits(DeviceKernel kernel, const Problem& problem, const DeviceAttention& d);

/// Code with the types and extents that all of the kernels take, and the strides of masks and
/// results. `unit` is that of scores of bytes.
KernelCode begin_attention(const Problem& problem, const DeviceAttention& d, double unit = 1);
/// Strides of queries, keys and values, for kernels that read them by address (heads.cuh).
void add_addresses(KernelCode& code, const DeviceAttention& d);

/// Steps and addresses are multiples of `elements`.
bool steps_divide(const View& view, const Operand& operand, int64_t elements);

}  // namespace tenon::attention
