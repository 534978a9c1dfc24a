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
  if (!DepthwiseRing::fits(d) || d.groups != s.output_channels)
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
  both.ring_ = DepthwiseRing::of(depthwise, capped_isa(stem.isa), depthwise.groups);
  both.stem_registers_ = register_epilogue(stem.steps, stem.output_type);
  TENON_TRY(both.pack(stem_weights, depthwise_weights));
  return both;
}

/// The first one's weights, those of the other behind them.
Status StemDepthwise::pack(const void* stem_weights, const void* depthwise_weights) {
  const size_t rest = packed_depthwise_bytes(ring_.problem);
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
    pack_depthwise(ring_.problem, depthwise_weights, reinterpret_cast<float*>(to + first.size()));
  }
  stem_bytes_ = packed_.bytes().size() - rest;
  stem.packed = packed_.bytes().first(stem_bytes_);
  TENON_ASSIGN(stem_, StemConvolution::prepare(stem, nullptr));
  return {};
}

size_t StemDepthwise::ring_bytes() const {
  return align_up(ring_.bytes());
}

int64_t StemDepthwise::bands() const {
  if (stem_problem_.threads == 1) return 1;
  const int64_t wanted = ceil_div(stem_problem_.threads * kBandsPerThread, stem_problem_.batch);
  return std::clamp<int64_t>(wanted, 1, ring_.problem.output[1]);
}

void StemDepthwise::run(const StemDepthwiseArguments& arguments, ThreadPool& pool,
                        void* scratch) const {
  const int64_t count = bands(), lines = ring_.problem.output[1];
  pool.for_each(stem_problem_.batch * count, 1, [&](int64_t i, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    const int64_t band = i % count;
    run_band(arguments, i / count, lines * band / count, lines * (band + 1) / count, own);
  });
}

void StemDepthwise::run_band(const StemDepthwiseArguments& arguments, int64_t image, int64_t first,
                             int64_t end, char* scratch) const {
  const ConvProblem& d = ring_.problem;
  auto* const lines = reinterpret_cast<float*>(scratch);
  ring_.pad(lines);
  DepthwiseLine line =
      ring_.filter_over(lines, reinterpret_cast<const float*>(packed_.at(stem_bytes_)),
                        arguments.depthwise_bias, d.groups);
  int64_t done = std::max<int64_t>(0, ring_.top(first));
  for (line.height = first; line.height < end; ++line.height) {
    const int64_t top = ring_.top(line.height);
    // Lines that no window meets are left out.
    done = std::max(done, std::max<int64_t>(0, top));
    for (; done < std::min(top + ring_.lines, d.input[1]); ++done)
      stem_line(arguments, image, done, scratch);
    ring_.compute(line, image, arguments.output);
  }
}

void StemDepthwise::stem_line(const StemDepthwiseArguments& arguments, int64_t image, int64_t line,
                              char* scratch) const {
  const int64_t channels = ring_.problem.groups, width = ring_.problem.input[2];
  float* to = ring_.at(reinterpret_cast<float*>(scratch), line);
  EpilogueOperand operands[kMaxConvSteps] = {};
  if (stem_registers_.bias >= 0) operands[stem_registers_.bias].data = arguments.stem_bias;
  const ConvArguments stem{arguments.input, nullptr, nullptr, operands, {}};
  stem_->run_line_to(stem, image * ring_.problem.input[1] + line, to, scratch + ring_bytes());
  finish_line(ring_.finish, stem_problem_, stem_->functions_from(), to, width, channels, channels);
}

}  // namespace tenon::cpu
