#include "kernels/conv/depthwise.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "kernels/conv/grouped.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

// Lines of input under one of output, most of which the next one reads again, stay in a cache near
// the core.
constexpr int64_t kBlockBytes = 96 << 10;
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kWidestVector = 16;
// A tap that asks whether it lies inside takes so many times one that need not; copying a number
// takes as long as two of the latter.
constexpr int64_t kAsking = 3, kCopying = 2;

}  // namespace

int64_t padded_depthwise_channels(int64_t channels) {
  return round_up(channels, kWidestVector);
}

size_t packed_depthwise_bytes(const ConvProblem& p) {
  return volume(p.kernel) * padded_depthwise_channels(p.groups) * sizeof(float);
}

void pack_depthwise(const ConvProblem& p, const void* weights, float* to) {
  const int64_t taps = volume(p.kernel), stride = padded_depthwise_channels(p.groups);
  std::fill_n(to, taps * stride, 0.0f);
  for (int64_t c = 0; c < p.groups; ++c)
    for (int64_t t = 0; t < taps; ++t) to[t * stride + c] = p.weight_at(weights, c * taps + t);
}

bool DepthwiseConvolution::fits(const ConvProblem& p) {
  return !p.transposed && !p.channels_first_input && p.groups == p.input_channels &&
         p.output_channels % p.groups == 0 && p.kernel[0] * p.kernel[1] <= kMaxDepthwiseRows;
}

Result<DepthwiseConvolution> DepthwiseConvolution::prepare(const ConvProblem& problem,
                                                           const void* weights) {
  if (!fits(problem)) return unsupported("not a depthwise convolution over channels-last images");
  TENON_TRY(check_steps(problem));
  DepthwiseConvolution conv;
  conv.problem_ = problem.with_strides();
  ConvProblem& p = conv.problem_;
  conv.repeats_ = p.output_channels / p.groups;
  conv.from_pixel_stride_ = p.input_pixel_stride;
  if (conv.repeats_ > 1) p.groups = p.input_channels = p.input_pixel_stride = p.output_channels;
  const Isa isa = capped_isa(p.isa);
  conv.kernel_ = depthwise_function(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  // Residuals are added in memory here: lines are long and the convolution is bound by its loads.
  if (conv.registers_.residual >= 0) {
    conv.registers_ = {.bias = conv.registers_.bias, .rest = conv.registers_.bias + 1};
  }
  conv.padded_channels_ = padded_depthwise_channels(p.groups);
  conv.choose_blocks();
  TENON_ASSIGN(conv.weights_, PackedWeights::make(packed_depthwise_bytes(p), p.packed, weights));
  if (!conv.weights_.filled())
    pack_depthwise(p, weights, static_cast<float*>(conv.weights_.target()));
  return conv;
}

void DepthwiseConvolution::choose_blocks() {
  const ConvProblem& p = problem_;
  const int64_t each = p.input[2] * p.kernel[0] * p.kernel[1] * element_size(p.input_type);
  const int64_t most = std::max(kWidestVector, kBlockBytes / each);
  channel_block_ = round_up(ceil_div(p.groups, ceil_div(p.groups, most)), kWidestVector);
  const int64_t wanted = p.threads > 1 ? p.threads * kTasksPerThread : 1;
  const int64_t bands = ceil_div(wanted, planes() * channel_blocks());
  const int64_t least = ceil_div(p.output[1], std::min(p.output[1], bands));
  line_block_ = least;
  for (int64_t lines = least + 1; lines <= std::min(2 * least, p.output[1]); ++lines)
    if (longest_share(lines) < longest_share(line_block_)) line_block_ = lines;
  pads_ = worth_padding();
}

/// Lines of the thread that has the most, in tasks of so many.
int64_t DepthwiseConvolution::longest_share(int64_t lines) const {
  const int64_t tasks = planes() * channel_blocks() * ceil_div(problem_.output[1], lines);
  return ceil_div(tasks, problem_.threads) * lines;
}

int64_t DepthwiseConvolution::padded_width() const {
  const ConvProblem& p = problem_;
  return (p.output[2] - 1) * p.stride[2] + (p.kernel[2] - 1) * p.dilation[2] + 1;
}

int64_t DepthwiseConvolution::band_lines() const {
  const ConvProblem& p = problem_;
  const int64_t window = (p.kernel[1] - 1) * p.dilation[1] + 1;
  return std::min(p.input[1], (line_block_ - 1) * p.stride[1] + window);
}

bool DepthwiseConvolution::worth_padding() const {
  const ConvProblem& p = problem_;
  if (p.input[0] != 1 || p.output[0] != 1 || p.kernel[0] != 1 || p.pad[0] != 0) return false;
  // Pixels with a tap in the padding.
  const int64_t before = ceil_div(std::max<int64_t>(0, p.pad[2]), p.stride[2]);
  const int64_t behind =
      ceil_div(std::max<int64_t>(0, padded_width() - p.pad[2] - p.input[2]), p.stride[2]);
  const int64_t asking = std::min(p.output[2], before + behind) * p.kernel[1] * p.kernel[2];
  return asking * kAsking * line_block_ > padded_width() * band_lines() * kCopying;
}

size_t DepthwiseConvolution::padded_bytes() const {
  return pads_ ? align_up(band_lines() * padded_width() * channel_block_ * sizeof(float)) : 0;
}

int64_t DepthwiseConvolution::channel_blocks() const {
  return ceil_div(problem_.groups, channel_block_);
}
int64_t DepthwiseConvolution::bands() const {
  return ceil_div(problem_.output[1], line_block_);
}

size_t DepthwiseConvolution::line_bytes() const {
  return align_up(problem_.output[2] * channel_block_ * sizeof(float));
}

size_t DepthwiseConvolution::repeated_bytes() const {
  if (repeats_ == 1) return 0;
  const ConvProblem& p = problem_;
  return align_up(p.batch * volume(p.input) * p.input_pixel_stride * element_size(p.input_type));
}

size_t DepthwiseConvolution::scratch_bytes() const {
  return worker_bytes() * problem_.threads + repeated_bytes();
}

/// Each channel as often as it has outputs.
template <class T>
void DepthwiseConvolution::repeat_channels(const T* from, T* to, ThreadPool& pool) const {
  const ConvProblem& p = problem_;
  const int64_t channels = p.input_channels / repeats_;
  constexpr int64_t kGrain = 64;
  pool.for_each(p.batch * volume(p.input), kGrain, [&](int64_t pixel) {
    const T* x = from + pixel * from_pixel_stride_;
    T* y = to + pixel * p.input_pixel_stride;
    for (int64_t c = 0; c < channels; ++c) y = std::fill_n(y, repeats_, x[c]);
  });
}

void DepthwiseConvolution::run(const ConvArguments& arguments, ThreadPool& pool,
                               void* scratch) const {
  if (repeats_ > 1) {
    void* repeated = static_cast<char*>(scratch) + worker_bytes() * problem_.threads;
    if (problem_.input_type == ElementType::f32)
      repeat_channels(static_cast<const float*>(arguments.input), static_cast<float*>(repeated),
                      pool);
    else
      repeat_channels(static_cast<const uint16_t*>(arguments.input),
                      static_cast<uint16_t*>(repeated), pool);
    ConvArguments inner = arguments;
    inner.input = repeated;
    return run_lines(inner, pool, scratch);
  }
  run_lines(arguments, pool, scratch);
}

void DepthwiseConvolution::run_lines(const ConvArguments& arguments, ThreadPool& pool,
                                     void* scratch) const {
  const int64_t tasks = planes() * bands() * channel_blocks();
  pool.for_each(tasks, 1, [&](int64_t i, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    run_task(arguments, i, reinterpret_cast<float*>(own));
  });
}

/// Lines of a block of channels; neighbouring tasks have the same lines.
void DepthwiseConvolution::run_task(const ConvArguments& arguments, int64_t task,
                                    float* scratch) const {
  const int64_t height = problem_.output[1];
  const int64_t channel = task % channel_blocks() * channel_block_;
  task /= channel_blocks();
  const int64_t first = task % bands() * line_block_, plane = task / bands();
  const int64_t last = std::min(first + line_block_, height);
  float* padded = pads_ ? scratch + line_bytes() / sizeof(float) : nullptr;
  if (pads_)
    pad_lines(arguments, plane * height + first, plane * height + last - 1, channel, padded);
  for (int64_t line = first; line < last; ++line)
    run_line(arguments, plane * height + line, channel, scratch, padded);
}

/// The input's lines under those of the output from `first` to `last`, each at its place of the
/// ring.
void DepthwiseConvolution::pad_lines(const ConvArguments& arguments, int64_t first, int64_t last,
                                     int64_t channel, float* padded) const {
  const ConvProblem& p = problem_;
  const DepthwiseLine line = line_of(arguments, first, channel);
  const int64_t top = line.height * p.stride[1] - p.pad[1];
  const int64_t bottom =
      last % p.output[1] * p.stride[1] - p.pad[1] + (p.kernel[1] - 1) * p.dilation[1];
  const GroupedFunctions& functions =
      TENON_BEST_OF_ISA(capped_isa(p.isa), kGroupedGeneric, kGroupedAvx2, kGroupedAvx512);
  for (int64_t h = std::max<int64_t>(0, top); h <= std::min(bottom, p.input[1] - 1); ++h)
    functions.copy({.input = line.input,
                    .type = p.input_type,
                    .height = p.input[1],
                    .width = p.input[2],
                    .pixel_stride = p.input_pixel_stride,
                    .first_line = h,
                    .first_column = -p.pad[2],
                    .lines = 1,
                    .columns = padded_width(),
                    .channels = line.channels,
                    .to = padded + h % band_lines() * padded_width() * line.channels});
}

/// All but the output.
DepthwiseLine DepthwiseConvolution::line_of(const ConvArguments& arguments, int64_t index,
                                            int64_t channel) const {
  const ConvProblem& p = problem_;
  const int64_t image = index / p.output[1] / p.output[0];
  const int64_t from = image * volume(p.input) * p.input_pixel_stride + channel;
  DepthwiseLine line{
      .input = static_cast<const char*>(arguments.input) + from * element_size(p.input_type),
      .input_type = p.input_type,
      .weights = reinterpret_cast<const float*>(weights_.at(0)) + channel,
      .weight_stride = padded_channels_,
      .channels = std::min(channel_block_, p.groups - channel),
      .extents = p.input,
      .kernel = p.kernel,
      .stride = p.stride,
      .dilation = p.dilation,
      .pad = p.pad,
      .pixel_stride = p.input_pixel_stride,
      .depth = index / p.output[1] % p.output[0],
      .height = index % p.output[1],
      .pixels = p.output[2],
      .activation = registers_.activation,
      .low = registers_.low,
      .high = registers_.high};
  if (registers_.bias >= 0)
    line.bias = static_cast<const float*>(arguments.operands[registers_.bias].data) + channel;
  return line;
}

void DepthwiseConvolution::run_line(const ConvArguments& arguments, int64_t index, int64_t channel,
                                    float* scratch, const float* padded) const {
  const ConvProblem& p = problem_;
  const int64_t row = index * p.output[2];
  void* output = static_cast<char*>(arguments.output) +
                 (row * p.output_pixel_stride + channel) * element_size(p.output_type);
  const bool in_registers = registers_.rest == static_cast<int>(p.steps.size());
  DepthwiseLine line = line_of(arguments, index, channel);
  if (padded != nullptr) {
    line.input = padded, line.input_type = ElementType::f32;
    line.pixel_stride = line.channels, line.ring = band_lines();
    line.extents[2] = padded_width(), line.pad[2] = 0;
  }
  line.output = in_registers ? output : scratch;
  line.output_stride = in_registers ? p.output_pixel_stride : channel_block_;
  line.output_type = in_registers ? p.output_type : ElementType::f32;
  kernel_(line);
  if (in_registers) return;
  const std::span<const EpilogueStep> steps(p.steps);
  finish_({.tile = scratch,
           .tile_stride = channel_block_,
           .rows = p.output[2],
           .columns = line.channels,
           .row = row,
           .column = channel,
           .output = output,
           .output_stride = p.output_pixel_stride,
           .output_type = p.output_type},
          steps.subspan(registers_.rest), arguments.operands + registers_.rest);
}

}  // namespace tenon::cpu
