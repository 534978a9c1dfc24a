#pragma once

#include "kernels/conv/depthwise.h"

namespace tenon::cpu {

/// A depthwise convolution in float over lines that another kernel makes on the way: of them only
/// the last ones are kept, in a ring, with zeros beside them, so that all taps of a row lie inside.
struct DepthwiseRing {
  ConvProblem problem;
  RegisterEpilogue registers;
  DepthwiseFunction filter = nullptr;
  FinishFunction finish = nullptr;
  int64_t pixel = 0;  ///< Floats from one pixel of the ring to the next.
  int64_t width = 0;  ///< Pixels of a line, with the zeros beside them.
  int64_t lines = 0;  ///< At a time, at least window().

  /// Whether it computes such a convolution.
  static bool fits(const ConvProblem& problem);
  /// With window() lines.
  static DepthwiseRing of(const ConvProblem& problem, Isa isa, int64_t pixel);

  /// The lines under a line of results.
  int64_t window() const { return (problem.kernel[1] - 1) * problem.dilation[1] + 1; }
  /// Of the first of these, which may lie in the padding.
  int64_t top(int64_t line) const { return line * problem.stride[1] - problem.pad[1]; }
  int64_t line_floats() const { return width * pixel; }
  size_t bytes() const { return static_cast<size_t>(lines * line_floats()) * sizeof(float); }
  /// Where line `number` of the image begins.
  float* at(float* ring, int64_t number) const {
    return ring + number % lines * line_floats() + problem.pad[2] * pixel;
  }
  /// Writes the zeros.
  void pad(float* ring) const;
  /// For all lines of results; a bias may be null.
  DepthwiseLine filter_over(const float* ring, const float* weights, const float* bias,
                            int64_t channels) const;
  /// The results of `line.height`, of the image; `output` is that of the line's first channel.
  void compute(DepthwiseLine& line, int64_t image, float* output) const;
};

}  // namespace tenon::cpu
