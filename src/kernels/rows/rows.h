#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/isa.h"
#include "kernels/epilogue/epilogue.h"

/// Row kernels over f32 or bf16, computing in float. A row is `n` contiguous elements.
namespace tenon::cpu {

/// Unary functions applied to each result.
using UnarySteps = std::vector<EpilogueStep>;

/// The operation on a row.
enum class RowReduction : uint8_t { sum, max, min, sum_magnitudes, sum_squares, log_sum_exp };

struct RowFunctions {
  /// y = softmax(x), or its logarithm.
  void (*softmax)(ElementType type, const void* x, void* y, int64_t n, bool log);
  /// softmax over n elements that lie a step apart, for `columns` neighbours side by side.
  void (*softmax_columns)(ElementType type, const void* x, void* y, int64_t n, int64_t x_step,
                          int64_t y_step, int64_t columns, bool log);
  /// y = steps((x - mean) / sqrt(variance + epsilon) * scale + bias); RMS takes the mean as 0.
  /// scale and bias have n floats, or are null. `buffer` holds n floats.
  void (*normalize)(ElementType type, const void* x, void* y, int64_t n, const float* scale,
                    const float* bias, float epsilon, bool rms, const UnarySteps& steps,
                    float* buffer);
  /// Adds to sums[0..channels) and squares[0..channels) those of `pixels` pixels.
  void (*moments)(ElementType type, const void* x, int64_t pixels, int64_t pixel_stride,
                  int64_t channels, float* sums, float* squares);
  /// y = steps(x * factor + shift), one factor and shift a channel.
  void (*scale_pixels)(ElementType type, const void* x, void* y, int64_t pixels, int64_t x_stride,
                       int64_t y_stride, int64_t channels, const float* factor, const float* shift,
                       const UnarySteps& steps);
  float (*reduce)(ElementType type, const void* x, int64_t n, RowReduction function);
  /// The same for rows that follow each other, of fewer elements than a vector takes; any reduction
  /// but log_sum_exp.
  void (*reduce_short)(ElementType type, const void* x, int64_t rows, int64_t n,
                       RowReduction function, float* results);
  /// Some elements of the row x become their share of its softmax, or the logarithm of that.
  void (*shares)(ElementType type, const void* x, int64_t n, float largest, void* values,
                 int64_t count, bool log);
  /// Folds `rows` rows of `columns` elements, `step` apart, into sums[0..columns): any reduction
  /// but log_sum_exp.
  void (*reduce_columns)(ElementType type, const void* x, int64_t rows, int64_t step,
                         int64_t columns, RowReduction function, float* sums);
  /// Sum of (x - centre)^2.
  float (*spread)(ElementType type, const void* x, int64_t n, float centre);
  /// y = steps(x * factor + shift).
  void (*scale_row)(ElementType type, const void* x, void* y, int64_t n, float factor, float shift,
                    const UnarySteps& steps);
};
TENON_BY_ISA(const RowFunctions&, row_functions)

}  // namespace tenon::cpu
