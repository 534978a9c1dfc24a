#include "kernels/conv/stem_depthwise.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/conv/plain_steps.h"

namespace tenon::cpu {
namespace {

// The lines between two bands are convolved twice, so there are few bands.
constexpr int64_t kBandsPerThread = 2;

}  // namespace

Status StemDepthwise::check(const ConvProblem& s, const ConvProblem& d) {
  if (!s.is_float() || !d.is_float()) return unsupported("a type other than f32");
  if (!StemConvolution::fits_images(s))
    return unsupported("not a convolution of a channels-first image with few channels");
  if (!DepthwiseConvolution::fits(d) || d.output_channels != d.groups ||
      d.groups != s.output_channels || d.input[0] != 1 || d.kernel[0] != 1 || d.pad[2] < 0)
    return unsupported("the second convolution is not depthwise over images");
  if (!has_plain_steps(s) || !has_plain_steps(d))
    return unsupported("an epilogue of more than a bias and functions of one operand");
  return {};
}

Result<StemDepthwise> StemDepthwise::prepare(const ConvProblem& stem, const ConvProblem& depthwise,
                                             const void* stem_weights,
                                             const void* depthwise_weights) {
  TENON_TRY(check(stem, depthwise));
  StemDepthwise both;
  both.stem_problem_ = stem;
  both.depthwise_ = depthwise;
  both.stem_registers_ = register_epilogue(stem.steps, stem.output_type);
  both.depthwise_registers_ = register_epilogue(depthwise.steps, depthwise.output_type);
  TENON_TRY(both.pack(stem_weights, depthwise_weights));
  const Isa isa = capped_isa(stem.isa);
  both.filter_ = depthwise_function(isa);
  both.finish_ = finish_function(isa);
  const ConvProblem& d = depthwise;
  const int64_t reach = (d.output[2] - 1) * d.stride[2] + (d.kernel[2] - 1) * d.dilation[2] + 1;
  both.padded_width_ = std::max(d.input[2] + d.pad[2], reach);
  return both;
}

/// The first one's weights, those of the other behind them.
Status StemDepthwise::pack(const void* stem_weights, const void* depthwise_weights) {
  const size_t rest = packed_depthwise_bytes(depthwise_);
  ConvProblem stem = stem_problem_;
  if (stem.packed.size() > rest) {
    TENON_ASSIGN(packed_, PackedWeights::make(stem.packed.size(), stem.packed, nullptr));
  } else {
    stem.packed = {};
    TENON_ASSIGN(const StemConvolution alone, StemConvolution::prepare(stem, stem_weights));
    const auto first = alone.packed();
    TENON_ASSIGN(packed_, PackedWeights::make(first.size() + rest, {}, stem_weights));
    auto* to = static_cast<std::byte*>(packed_.target());
    std::copy(first.begin(), first.end(), to);
    pack_depthwise(depthwise_, depthwise_weights, reinterpret_cast<float*>(to + first.size()));
  }
  stem_bytes_ = packed_.bytes().size() - rest;
  stem.packed = packed_.bytes().first(stem_bytes_);
  TENON_ASSIGN(stem_, StemConvolution::prepare(stem, nullptr));
  return {};
}

size_t StemDepthwise::ring_bytes() const {
  return align_up(lines() * line_floats() * sizeof(float));
}

int64_t StemDepthwise::bands() const {
  if (stem_problem_.threads == 1) return 1;
  const int64_t wanted = ceil_div(stem_problem_.threads * kBandsPerThread, stem_problem_.batch);
  return std::clamp<int64_t>(wanted, 1, depthwise_.output[1]);
}

void StemDepthwise::run(const StemDepthwiseArguments& arguments, ThreadPool& pool,
                        void* scratch) const {
  const int64_t count = bands(), lines = depthwise_.output[1];
  pool.for_each(stem_problem_.batch * count, 1, [&](int64_t i, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    const int64_t band = i % count;
    run_band(arguments, i / count, lines * band / count, lines * (band + 1) / count, own);
  });
}

void StemDepthwise::run_band(const StemDepthwiseArguments& arguments, int64_t image, int64_t first,
                             int64_t end, char* scratch) const {
  const ConvProblem& d = depthwise_;
  pad(reinterpret_cast<float*>(scratch));
  DepthwiseLine line = filter_of(arguments, reinterpret_cast<const float*>(scratch));
  int64_t done = std::max<int64_t>(0, first * d.stride[1] - d.pad[1]);
  for (line.height = first; line.height < end; ++line.height) {
    const int64_t top = line.height * d.stride[1] - d.pad[1];
    // Lines that no window meets are left out.
    done = std::max(done, std::max<int64_t>(0, top));
    for (; done < std::min(top + lines(), d.input[1]); ++done)
      stem_line(arguments, image, done, scratch);
    const int64_t pixel = (image * d.output[1] + line.height) * d.output[2];
    float* output = arguments.output + pixel * d.output_pixel_stride;
    line.output = output;
    filter_(line);
    finish_line(finish_, d, depthwise_registers_.rest, output, d.output[2], d.output_pixel_stride,
                d.groups);
  }
}

/// Zeros beside the lines, so that all taps of a row lie inside.
void StemDepthwise::pad(float* ring) const {
  const int64_t left = depthwise_.pad[2] * depthwise_.groups;
  const int64_t end = left + depthwise_.input[2] * depthwise_.groups;
  for (int64_t i = 0; i < lines(); ++i, ring += line_floats()) {
    std::fill_n(ring, left, 0.0f);
    std::fill_n(ring + end, line_floats() - end, 0.0f);
  }
}

void StemDepthwise::stem_line(const StemDepthwiseArguments& arguments, int64_t image, int64_t line,
                              char* scratch) const {
  const int64_t channels = depthwise_.groups, width = depthwise_.input[2];
  float* to = reinterpret_cast<float*>(scratch) + line % lines() * line_floats() +
              depthwise_.pad[2] * channels;
  EpilogueOperand operands[kMaxConvSteps] = {};
  if (stem_registers_.bias >= 0) operands[stem_registers_.bias].data = arguments.stem_bias;
  const ConvArguments stem{arguments.input, nullptr, nullptr, operands, {}};
  stem_->run_line_to(stem, image * depthwise_.input[1] + line, to, scratch + ring_bytes());
  finish_line(finish_, stem_problem_, stem_->functions_from(), to, width, channels, channels);
}

DepthwiseLine StemDepthwise::filter_of(const StemDepthwiseArguments& arguments,
                                       const float* ring) const {
  const ConvProblem& d = depthwise_;
  return {.input = ring,
          .weights = reinterpret_cast<const float*>(packed_.at(stem_bytes_)),
          .weight_stride = padded_depthwise_channels(d.groups),
          .bias = arguments.depthwise_bias,
          .channels = d.groups,
          .extents = {1, d.input[1], padded_width_},
          .ring = lines(),
          .kernel = d.kernel,
          .stride = d.stride,
          .dilation = d.dilation,
          .pad = {0, d.pad[1], 0},
          .pixel_stride = d.groups,
          .pixels = d.output[2],
          .activation = depthwise_registers_.activation,
          .low = depthwise_registers_.low,
          .high = depthwise_registers_.high,
          .output_stride = d.output_pixel_stride};
}

}  // namespace tenon::cpu
