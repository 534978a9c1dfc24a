#include "kernels/conv/depthwise_ring.h"

#include <algorithm>

#include "kernels/conv/plain_steps.h"

namespace tenon::cpu {

bool DepthwiseRing::fits(const ConvProblem& p) {
  return DepthwiseConvolution::fits(p) && p.output_channels == p.groups && p.input[0] == 1 &&
         p.kernel[0] == 1 && p.pad[2] >= 0;
}

DepthwiseRing DepthwiseRing::of(const ConvProblem& p, Isa isa, int64_t pixel) {
  const int64_t reach = (p.output[2] - 1) * p.stride[2] + (p.kernel[2] - 1) * p.dilation[2] + 1;
  DepthwiseRing ring{.problem = p,
                     .registers = register_epilogue(p.steps, p.output_type),
                     .filter = depthwise_function(isa),
                     .finish = finish_function(isa),
                     .pixel = pixel,
                     .width = std::max(p.input[2] + p.pad[2], reach)};
  ring.lines = ring.window();
  return ring;
}

void DepthwiseRing::pad(float* ring) const {
  const int64_t left = problem.pad[2] * pixel, end = left + problem.input[2] * pixel;
  for (int64_t i = 0; i < lines; ++i, ring += line_floats()) {
    std::fill_n(ring, left, 0.0f);
    std::fill_n(ring + end, line_floats() - end, 0.0f);
  }
}

DepthwiseLine DepthwiseRing::filter_over(const float* ring, const float* weights, const float* bias,
                                         int64_t channels) const {
  return {.input = ring,
          .weights = weights,
          .weight_stride = padded_depthwise_channels(problem.groups),
          .bias = bias,
          .channels = channels,
          .extents = {1, problem.input[1], width},
          .ring = lines,
          .kernel = problem.kernel,
          .stride = problem.stride,
          .dilation = problem.dilation,
          .pad = {0, problem.pad[1], 0},
          .pixel_stride = pixel,
          .pixels = problem.output[2],
          .activation = registers.activation,
          .low = registers.low,
          .high = registers.high,
          .output_stride = problem.output_pixel_stride};
}

void DepthwiseRing::compute(DepthwiseLine& line, int64_t image, float* output) const {
  const int64_t row = (image * problem.output[1] + line.height) * problem.output[2];
  float* const to = output + row * problem.output_pixel_stride;
  line.output = to;
  filter(line);
  finish_line(finish, problem, registers.rest, to, problem.output[2], problem.output_pixel_stride,
              line.channels);
}

}  // namespace tenon::cpu
