#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/plan.h"
#include "kernels/jit/window.h"
#include "kernels/quantized_region.h"

namespace tenon {

/// Least and greatest number that a result of integers takes, in units of its scale without its
/// zero point: those of the type, or those of a clamp in front.
struct ByteLimits {
  double low = -128, high = 127;
};

/// A quantized region in the terms of our own kernels for NVIDIA GPUs: each of `rows` results in
/// each of `columns` is a sum over taps and channels, and the columns lie beside each other in
/// `loop`. A product is a convolution of one tap, and its window says nothing.
struct DeviceQuantized {
  QuantizedRegion region;
  bool is_convolution = false;
  DeviceWindow window;
  int64_t rows = 1, columns = 1, channels = 1;
  /// Rows that lie behind each other and count as one (stack_rows): `columns` and `channels` are so
  /// many times those of the weights.
  int64_t stacked = 1;
  int64_t zero = 0;  ///< Zero point of the activations.
  IndexLoop loop;    ///< Over the result, columns fastest.
  /// Of each column: the result's scale and bias, in multiples of the scale of a quantized result
  /// where nothing but a clamp lies between (`is_scaled`).
  std::vector<float> scales, biases;
  size_t first_step = 0;  ///< Those of the region before it are in scales and biases.
  bool is_scaled = false;
  bool is_halved = false;   ///< Scales and biases give half of what the steps take.
  bool packs_gelu = false;  ///< Conversions to bytes compute that one step (begin_byte_code).
  /// Where a result of integers is clamped, whole numbers in units of its scale without its zero
  /// point: scales, biases and steps (where `is_scaled`, else only the last of them) give places
  /// between the two, 0 the low and 1 the high one, to conversions (begin_byte_code).
  std::optional<ByteLimits> interval;
  /// The first step adds bytes as they lie in floats, kByteStart too large; biases make that good.
  bool adds_raw_bytes = false;

  int64_t taps() const { return window.kernel[0] * window.kernel[1] * window.kernel[2]; }
};

/// Fails, with the reason, for other nodes and for what no kernel of ours takes.
Result<DeviceQuantized> describe_device_quantized(const Problem& problem);
/// Of a region of the problem.
Result<DeviceQuantized> describe_device_quantized(const Problem& problem, QuantizedRegion region);

/// Makes the region a product of `count` rows at a time, whose weights are as many copies of the
/// region's along the diagonal: rows that are no whole pieces of 16 bytes become some that are.
/// Fails where rows do not lie behind each other, or are no multiple of `count`.
Status stack_rows(const Problem& problem, DeviceQuantized& d, int64_t count);

/// Element types of 8, 16 and 32 bits in device code with jit/bytes.cuh; null for others.
const char* quantized_type_name(DataType type);
/// As instructions of tensor cores say it: "s8", "u8", "e4m3", "e5m2".
const char* matrix_type_name(DataType type);
bool is_float8(DataType type);

/// Columns of arrays that are read as far as tiles reach.
int64_t padded_columns(const DeviceQuantized& d);

/// What follows the products, as add_epilogue of jit/epilogue_code.h has it: the functions start
/// from sums times scales plus biases, and end in numbers that only need to be rounded. Gives the
/// problem inputs that the parameters stand for.
Result<std::vector<int>> add_quantized_epilogue(KernelCode& code, const Problem& problem,
                                                const DeviceQuantized& d);

ByteLimits byte_limits(const Problem& problem, const DeviceQuantized& d);

/// Whether conversions of jit/bytes.cuh may compute a GELU, which is all that is left behind scales
/// and biases, on pairs of halves. Only words of four bytes do.
bool may_pack_gelu(const Problem& problem, const DeviceQuantized& d);
/// Begins code with jit/bytes.cuh, which comes ahead of generated functions over its types: its
/// conversions to the result's bytes clamp to the problem's limits, and may compute a GELU.
Result<KernelCode> begin_byte_code(const Problem& problem, const DeviceQuantized& d);

/// `multiply_bytes(Accumulator (&c)[4], const u32 (&a)[4], u32 b0, u32 b1)`: adds products of 16 by
/// 8 results over 32 bytes of the depth.
void add_byte_product(KernelCode& code, const Problem& problem, const DeviceQuantized& d);
/// Why the GPU has no such product; ok where it has.
Status check_byte_product(const Problem& problem, const DeviceQuantized& d);

/// Makes a scale and a bias for each column, f32, with zeros behind the last one. `start` is what
/// sums have on top.
std::function<std::vector<std::byte>()> column_factors(const DeviceQuantized& d, double start = 0);

/// The greatest sum of integers that these weights can give, with or without the zero point.
int64_t greatest_sum(const Problem& problem, const DeviceQuantized& d);
/// Whether sums are integers below 2^22, which become floats without a conversion.
bool has_small_sums(const Problem& problem, const DeviceQuantized& d);

/// The tensors like the result that steps take; nothing where others are among their operands.
std::optional<std::vector<int>> addends(const Problem& problem, const DeviceQuantized& d);

/// How packed weights lie: [columns][row], a tap's channels `tap_pitch` bytes behind the last
/// one's, zeros between; integers without their zero point. With a `slab` columns are in whole
/// slabs of so many, and of those of a slab each group of 8 has two of every quarter.
struct PackedWeights {
  int64_t row = 0, tap_pitch = 0, slab = 0;

  /// The column at a place, and the number of places.
  int64_t column_at(int64_t place) const;
  int64_t places(int64_t columns) const;
};
JitConstant packed_weights(const Problem& problem, const DeviceQuantized& d,
                           const PackedWeights& order);

/// Positions along an axis of a convolution's result whose taps meet equal parts of the border.
struct BorderKinds {
  std::vector<int64_t> of;                        ///< Of each position.
  std::vector<std::pair<int64_t, int64_t>> taps;  ///< Of each kind: first, and behind the last.
};
BorderKinds border_kinds(const DeviceWindow& window, size_t axis);

/// Makes what the zero point adds to the sums: an i32 for each padded column, of all taps or of
/// each pair of kinds of positions along the last two axes.
JitConstant column_shifts(const Problem& problem, const DeviceQuantized& d);
JitConstant column_shifts(const Problem& problem, const DeviceQuantized& d, const BorderKinds& down,
                          const BorderKinds& across);

/// The plan of one launch that takes the region's input, `weights` in the kernel's order, the
/// result, factors and shifts of columns (none without a zero point) and the epilogue's operands.
JitPlan quantized_plan(JitLaunch launch, const Problem& problem, const DeviceQuantized& d,
                       JitConstant weights, const std::vector<int>& operands);

}  // namespace tenon
