#include "kernels/conv/depthwise_phases.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "kernels/conv/plain_steps.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {

bool DepthwiseDeconvolution::fits(const ConvProblem& p) {
  return p.transposed && !p.channels_first_input && p.groups == p.input_channels &&
         p.groups == p.output_channels && p.output_type == ElementType::f32 &&
         p.kernel[0] * p.kernel[1] <= kMaxDepthwiseRows && has_plain_steps(p);
}

Result<DepthwiseDeconvolution> DepthwiseDeconvolution::prepare(const ConvProblem& problem,
                                                               const void* weights) {
  if (!fits(problem)) return unsupported("not a transposed depthwise convolution");
  DepthwiseDeconvolution conv;
  conv.problem_ = problem.with_strides();
  ConvProblem& p = conv.problem_;
  const Isa isa = capped_isa(p.isa);
  conv.kernel_ = depthwise_function(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.padded_channels_ = padded_depthwise_channels(p.groups);
  for (int axis = 0; axis < 3; ++axis)
    for (int64_t residue = 0; residue < p.stride[axis]; ++residue)
      conv.axes_[axis].push_back(conv.phase_of(axis, residue));
  int64_t taps = 0;
  for (const AxisPhase& depth : conv.axes_[0])
    for (const AxisPhase& row : conv.axes_[1])
      for (const AxisPhase& column : conv.axes_[2]) {
        conv.first_tap_.push_back(taps);
        taps += static_cast<int64_t>(depth.taps.size() * row.taps.size() * column.taps.size());
      }
  TENON_ASSIGN(conv.weights_, PackedWeights::make(taps * conv.padded_channels_ * sizeof(float),
                                                  p.packed, weights));
  if (!conv.weights_.filled()) conv.pack(weights);
  return conv;
}

/// Taps in the order of the places that they meet.
DepthwiseDeconvolution::AxisPhase DepthwiseDeconvolution::phase_of(int axis,
                                                                   int64_t residue) const {
  const ConvProblem& p = problem_;
  AxisPhase phase;
  for (int64_t tap = p.kernel[axis] - 1; tap >= 0; --tap) {
    const int64_t at = residue + p.pad[axis] - tap * p.dilation[axis];
    if (floor_mod(at, p.stride[axis]) != 0) continue;
    const int64_t place = at / p.stride[axis];
    if (phase.taps.empty()) phase.shift = place;
    if (phase.taps.size() == 1) phase.step = place - phase.shift;
    phase.taps.push_back(tap);
  }
  return phase;
}

size_t DepthwiseDeconvolution::index_of(const Spatial& residue) const {
  const Spatial& stride = problem_.stride;
  return (residue[0] * stride[1] + residue[1]) * stride[2] + residue[2];
}

void DepthwiseDeconvolution::pack(const void* weights) {
  const ConvProblem& p = problem_;
  const auto weight = [&](int64_t index) {
    return p.weight_type == ElementType::f32
               ? static_cast<const float*>(weights)[index]
               : bf16_to_float(static_cast<const uint16_t*>(weights)[index]);
  };
  auto* to = static_cast<float*>(weights_.target());
  std::memset(to, 0, weights_.bytes().size());
  for (const AxisPhase& depth : axes_[0])
    for (const AxisPhase& row : axes_[1])
      for (const AxisPhase& column : axes_[2])
        for (const int64_t d : depth.taps)
          for (const int64_t h : row.taps)
            for (const int64_t w : column.taps) {
              const int64_t tap = (d * p.kernel[1] + h) * p.kernel[2] + w;
              for (int64_t c = 0; c < p.groups; ++c) to[c] = weight(c * volume(p.kernel) + tap);
              to += padded_channels_;
            }
}

void DepthwiseDeconvolution::run(const ConvArguments& arguments, ThreadPool& pool, void*) const {
  const ConvProblem& p = problem_;
  pool.for_each(p.batch * p.output[0] * p.output[1], 1, [&](int64_t i) { run_line(arguments, i); });
}

void DepthwiseDeconvolution::run_line(const ConvArguments& arguments, int64_t index) const {
  const ConvProblem& p = problem_;
  const int64_t height = index % p.output[1], depth = index / p.output[1] % p.output[0];
  const int64_t image = index / p.output[1] / p.output[0];
  const AxisPhase& deep = axis_phase(0, depth % p.stride[0]);
  const AxisPhase& high = axis_phase(1, height % p.stride[1]);
  const int64_t from = image * volume(p.input) * p.input_pixel_stride;
  float* output =
      static_cast<float*>(arguments.output) + index * p.output[2] * p.output_pixel_stride;
  const auto count = [](const AxisPhase& phase) { return static_cast<int64_t>(phase.taps.size()); };
  for (int64_t column = 0; column < std::min(p.stride[2], p.output[2]); ++column) {
    const AxisPhase& wide = axis_phase(2, column);
    const int64_t first = first_tap_[index_of({depth % p.stride[0], height % p.stride[1], column})];
    DepthwiseLine line{
        .input = static_cast<const char*>(arguments.input) + from * element_size(p.input_type),
        .input_type = p.input_type,
        .weights = reinterpret_cast<const float*>(weights_.at(0)) + first * padded_channels_,
        .weight_stride = padded_channels_,
        .channels = p.groups,
        .extents = p.input,
        .kernel = {count(deep), count(high), count(wide)},
        .stride = {1, 1, 1},
        .dilation = {deep.step, high.step, wide.step},
        .pad = {-deep.shift, -high.shift, -wide.shift},
        .pixel_stride = p.input_pixel_stride,
        .depth = depth / p.stride[0],
        .height = height / p.stride[1],
        .pixels = ceil_div(p.output[2] - column, p.stride[2]),
        .activation = registers_.activation,
        .low = registers_.low,
        .high = registers_.high,
        .output = output + column * p.output_pixel_stride,
        .output_stride = p.stride[2] * p.output_pixel_stride};
    if (registers_.bias >= 0)
      line.bias = static_cast<const float*>(arguments.operands[registers_.bias].data);
    kernel_(line);
  }
  finish_line(finish_, p, registers_.rest, output, p.output[2], p.output_pixel_stride, p.groups);
}

}  // namespace tenon::cpu
