#include "kernels/conv/narrow.h"

#include <algorithm>

#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kPiece = 64;  ///< Pixels of one task.
constexpr int64_t kTileStride = 16;
constexpr int64_t kShortestRow = 16;

int64_t pieces(const ConvProblem& p) {
  return (p.output[2] + kPiece - 1) / kPiece;
}

size_t tile_bytes(int threads) {
  return worker_stride(kPiece * kTileStride * sizeof(float), threads);
}

}  // namespace

bool NarrowConvolution::fits(const ConvProblem& p) {
  const bool contiguous = !p.channels_first_input && p.groups == 1 &&
                          (p.input_pixel_stride == 0 || p.input_pixel_stride == p.input_channels) &&
                          (p.dilation[2] == 1 || p.kernel[2] == 1);
  return !p.transposed && contiguous && p.output_channels <= kMostNarrowChannels &&
         p.input_type == ElementType::f32 && p.weight_type == ElementType::f32 &&
         p.kernel[2] * p.input_channels >= kShortestRow &&
         p.kernel[0] * p.kernel[1] <= kMostNarrowRows;
}

Result<NarrowConvolution> NarrowConvolution::prepare(const ConvProblem& problem,
                                                     const void* weights) {
  if (!fits(problem)) return unsupported("not a convolution to few channels");
  TENON_TRY(check_steps(problem));
  NarrowConvolution conv;
  conv.problem_ = problem;
  ConvProblem& p = conv.problem_;
  if (p.output_pixel_stride == 0) p.output_pixel_stride = p.output_channels;
  const Isa isa = capped_isa(p.isa);
  conv.kernel_ = narrow_function(isa);
  conv.finish_ = finish_function(isa);
  const auto bytes =
      static_cast<size_t>(p.output_channels * p.kernel[0] * p.kernel[1] * conv.weight_stride()) *
      sizeof(float);
  TENON_ASSIGN(conv.weights_, PackedWeights::make(bytes, p.packed, weights));
  if (!conv.weights_.filled())
    conv.pack(static_cast<const float*>(weights), static_cast<float*>(conv.weights_.target()));
  return conv;
}

int64_t NarrowConvolution::weight_stride() const {
  return problem_.kernel[2] * problem_.input_channels;
}

/// Output, row of taps, then (column, channel) as they lie in the image.
void NarrowConvolution::pack(const float* weights, float* to) const {
  const ConvProblem& p = problem_;
  const int64_t rows = p.kernel[0] * p.kernel[1], columns = p.kernel[2];
  for (int64_t o = 0; o < p.output_channels; ++o)
    for (int64_t c = 0; c < p.input_channels; ++c)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < columns; ++k)
          to[(o * rows + r) * weight_stride() + k * p.input_channels + c] = *weights++;
}

size_t NarrowConvolution::scratch_bytes() const {
  return tile_bytes(problem_.threads) * problem_.threads;
}

void NarrowConvolution::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  const int64_t each = pieces(problem_);
  const int64_t tasks = problem_.batch * problem_.output[0] * problem_.output[1] * each;
  pool.for_each(tasks, 1, [&](int64_t i, int worker) {
    auto* tile = reinterpret_cast<float*>(static_cast<char*>(scratch) +
                                          worker * tile_bytes(problem_.threads));
    run_piece(arguments, i / each, i % each * kPiece, tile);
  });
}

void NarrowConvolution::run_piece(const ConvArguments& arguments, int64_t line, int64_t first,
                                  float* tile) const {
  const ConvProblem& p = problem_;
  const int64_t image = line / p.output[1] / p.output[0];
  const int64_t row = line * p.output[2] + first;
  const NarrowLine one{.input = static_cast<const float*>(arguments.input) +
                                image * volume(p.input) * p.input_channels,
                       .weights = reinterpret_cast<const float*>(weights_.at(0)),
                       .row_length = weight_stride(),
                       .weight_stride = weight_stride(),
                       .channels = p.input_channels,
                       .outputs = static_cast<int>(p.output_channels),
                       .weight_rows = p.kernel[0] * p.kernel[1],
                       .extents = p.input,
                       .kernel = p.kernel,
                       .stride = p.stride,
                       .dilation = p.dilation,
                       .pad = p.pad,
                       .depth = line / p.output[1] % p.output[0],
                       .height = line % p.output[1],
                       .first = first,
                       .pixels = std::min(kPiece, p.output[2] - first),
                       .tile = tile,
                       .tile_stride = kTileStride};
  kernel_(one);
  finish_({.tile = tile,
           .tile_stride = kTileStride,
           .rows = one.pixels,
           .columns = p.output_channels,
           .row = row,
           .output = static_cast<char*>(arguments.output) +
                     row * p.output_pixel_stride * element_size(p.output_type),
           .output_stride = p.output_pixel_stride,
           .output_type = p.output_type},
          p.steps, arguments.operands);
}

}  // namespace tenon::cpu
