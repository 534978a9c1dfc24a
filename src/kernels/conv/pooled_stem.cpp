#include "kernels/conv/pooled_stem.h"

#include <algorithm>

#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

// The lines between two bands are convolved twice, so there are few bands.
constexpr int64_t kBandsPerThread = 2;
constexpr int64_t kMostTaps = 16;  // of a window, along one axis

}  // namespace

bool PooledStem::fits(const ConvProblem& p, const PoolWindow& w) {
  if (!StemConvolution::fits_images(p)) return false;
  const RegisterEpilogue registers = register_epilogue(p.steps, p.output_type);
  if (registers.residual >= 0 || registers.rest != static_cast<int>(p.steps.size())) return false;
  for (int i = 0; i < 2; ++i)
    if (w.kernel[i] > kMostTaps || w.stride[i] < 1 || w.pad[i] < 0 || w.pad[i] >= w.kernel[i])
      return false;
  return true;
}

Result<PooledStem> PooledStem::prepare(const ConvProblem& problem, const PoolWindow& window,
                                       const void* weights) {
  if (!fits(problem, window)) return unsupported("not a first convolution with max pooling");
  PooledStem both;
  both.problem_ = problem;
  both.window_ = window;
  TENON_ASSIGN(both.stem_, StemConvolution::prepare(problem, weights));
  return both;
}

size_t PooledStem::line_bytes() const {
  return align_up(problem_.output[2] * problem_.output_channels * sizeof(float));
}

/// The lines under a window, their maximum, and the convolution's scratch.
size_t PooledStem::worker_bytes() const {
  return worker_stride((window_.kernel[0] + 1) * line_bytes() + stem_->line_scratch_bytes(),
                       problem_.threads);
}

int64_t PooledStem::bands() const {
  if (problem_.threads == 1) return 1;
  return std::clamp<int64_t>((problem_.threads * kBandsPerThread + problem_.batch - 1) /
                                 std::max<int64_t>(1, problem_.batch),
                             1, window_.output[0]);
}

void PooledStem::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  const int64_t count = bands(), lines = window_.output[0];
  pool.for_each(problem_.batch * count, 1, [&](int64_t i, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    const int64_t band = i % count;
    run_band(arguments, i / count, lines * band / count, lines * (band + 1) / count, own);
  });
}

void PooledStem::run_band(const ConvArguments& arguments, int64_t image, int64_t first, int64_t end,
                          char* scratch) const {
  const int64_t height = problem_.output[1];
  const auto line_at = [&](int64_t place) {
    return reinterpret_cast<float*>(scratch + place * line_bytes());
  };
  float* merged = line_at(window_.kernel[0]);
  char* rest = scratch + (window_.kernel[0] + 1) * line_bytes();
  int64_t convolved = std::max<int64_t>(0, first * window_.stride[0] - window_.pad[0]);
  for (int64_t y = first; y < end; ++y) {
    const int64_t top = y * window_.stride[0] - window_.pad[0];
    const int64_t bottom = std::min(top + window_.kernel[0], height);
    const float* lines[kMostTaps];
    int count = 0;
    for (int64_t line = std::max<int64_t>(0, top); line < bottom; ++line) {
      float* place = line_at(line % window_.kernel[0]);
      if (line >= convolved) stem_->run_line_to(arguments, image * height + line, place, rest);
      convolved = std::max(convolved, line + 1);
      lines[count++] = place;
    }
    const int64_t pixel = (image * window_.output[0] + y) * window_.output[1];
    pool_line(lines, count, merged,
              static_cast<char*>(arguments.output) +
                  pixel * problem_.output_pixel_stride * element_size(problem_.output_type));
  }
}

void PooledStem::pool_line(const float* const* lines, int count, float* merged, void* to) const {
  const int64_t width = problem_.output[2], channels = problem_.output_channels;
  const auto maximum = stem_->functions().maximum;
  maximum(lines, count, width * channels, merged, ElementType::f32);
  for (int64_t x = 0; x < window_.output[1]; ++x) {
    const int64_t left = x * window_.stride[1] - window_.pad[1];
    const float* pixels[kMostTaps];
    int taps = 0;
    for (int64_t i = std::max<int64_t>(0, left); i < std::min(left + window_.kernel[1], width); ++i)
      pixels[taps++] = merged + i * channels;
    void* pixel = static_cast<char*>(to) +
                  x * problem_.output_pixel_stride * element_size(problem_.output_type);
    maximum(pixels, taps, channels, pixel, problem_.output_type);
  }
}

}  // namespace tenon::cpu
