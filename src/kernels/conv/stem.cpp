#include "kernels/conv/stem.h"

#include <algorithm>
#include <bit>

#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

// More taps than this are worth a matrix of windows, whose products run in longer stretches.
constexpr int64_t kMostTaps = 512;

const StemFunctions& stem_functions(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kStemGeneric, kStemAvx2, kStemAvx512);
}

/// Plain enough for the compiler's own vectors.
void widen(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
}

}  // namespace

bool StemConvolution::fits(const ConvProblem& p) {
  const int64_t step = p.stride[2];
  const bool side_by_side =
      p.channels_first_input || (p.input_channels == 1 && p.input_pixel_stride <= 1);
  const bool per_pixel = std::any_of(p.steps.begin(), p.steps.end(), [](const EpilogueStep& s) {
    return s.operand == OperandKind::per_row;
  });
  return side_by_side && !p.transposed && p.groups == 1 && !per_pixel &&
         (step == 1 || step == 2 || step == 4) &&
         p.input_channels * volume(p.kernel) <= kMostTaps && p.steps.size() <= kMaxConvSteps;
}

bool StemConvolution::fits_images(const ConvProblem& p) {
  return fits(p) && p.input[0] == 1 && p.output[0] == 1 && p.kernel[0] == 1 && p.pad[0] == 0;
}

Result<StemConvolution> StemConvolution::prepare(const ConvProblem& problem, const void* weights) {
  if (!fits(problem)) return unsupported("not a plain convolution of pixels that lie side by side");
  StemConvolution conv;
  conv.problem_ = problem;
  ConvProblem& p = conv.problem_;
  if (p.output_pixel_stride == 0) p.output_pixel_stride = p.output_channels;
  const Isa isa = capped_isa(p.isa);
  conv.kernels_ = &microkernels(ElementType::f32, isa);
  conv.functions_ = &stem_functions(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.padded_width_ = (p.output[2] - 1) * p.stride[2] + (p.kernel[2] - 1) * p.dilation[2] + 1;
  for (int64_t row = 0; row < conv.rows(); ++row)
    for (int64_t x = 0; x < p.kernel[2]; ++x)
      conv.offsets_.push_back(static_cast<int32_t>(row * conv.padded_width_ + x * p.dilation[2]));
  TENON_TRY(conv.pack(weights));
  return conv;
}

Status StemConvolution::pack(const void* weights) {
  const int64_t n = problem_.output_channels;
  const size_t bytes = align_up(tenon::cpu::packed_bytes(*kernels_, k(), n));
  TENON_ASSIGN(packed_, PackedWeights::make(bytes, problem_.packed, weights));
  if (packed_.filled()) return {};
  // One row of the ONNX order is one column here.
  const MatrixView columns{weights, problem_.weight_type, 1, k()};
  pack_panels(*kernels_, columns, k(), n, 0, (n + kernels_->panel - 1) / kernels_->panel,
              packed_.target());
  return {};
}

size_t StemConvolution::row_bytes() const {
  return align_up(rows() * padded_width_ * sizeof(float));
}

size_t StemConvolution::line_bytes() const {
  return align_up(problem_.output[2] * problem_.output_channels * sizeof(float));
}

size_t StemConvolution::scratch_bytes() const {
  return worker_stride(row_bytes() + line_bytes(), problem_.threads) * problem_.threads;
}

/// The padded input rows of line `index` of all images.
void StemConvolution::copy_rows(const void* input, int64_t index, float* to) const {
  const ConvProblem& p = problem_;
  const int64_t depth = p.input[0], height = p.input[1], width = p.input[2];
  const int64_t line = index % p.output[1], plane = index / p.output[1];
  const int64_t first = plane / p.output[0] * p.input_channels * volume(p.input);
  const char* image = static_cast<const char*>(input) + first * element_size(p.input_type);
  const int64_t left = std::min(p.pad[2], padded_width_);
  const int64_t inside = std::clamp<int64_t>(padded_width_ - left, 0, width);
  for (int64_t row = 0; row < rows(); ++row, to += padded_width_) {
    const int64_t y = row % p.kernel[1], z = row / p.kernel[1] % p.kernel[0];
    const int64_t h = line * p.stride[1] + y * p.dilation[1] - p.pad[1];
    const int64_t d = plane % p.output[0] * p.stride[0] + z * p.dilation[0] - p.pad[0];
    const bool is_inside = h >= 0 && h < height && d >= 0 && d < depth;
    std::fill_n(to, is_inside ? left : padded_width_, 0.0f);
    if (!is_inside) continue;
    std::fill(to + left + inside, to + padded_width_, 0.0f);
    const int64_t at = ((row / (p.kernel[0] * p.kernel[1]) * depth + d) * height + h) * width;
    if (p.input_type == ElementType::f32)
      std::copy_n(reinterpret_cast<const float*>(image) + at, inside, to + left);
    else
      widen(reinterpret_cast<const uint16_t*>(image) + at, inside, to + left);
  }
}

void StemConvolution::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  const size_t own = worker_stride(row_bytes() + line_bytes(), problem_.threads);
  pool.for_each(problem_.batch * problem_.output[0] * problem_.output[1], 1,
                [&](int64_t i, int worker) {
                  run_line(arguments, i, static_cast<char*>(scratch) + worker * own);
                });
}

/// All pixels of a line: the last full tile overlaps the one before where the line is no multiple.
void StemConvolution::multiply(const float* rows, Tile tile, void* output,
                               int64_t output_stride) const {
  const ConvProblem& p = problem_;
  const int64_t pixels = p.output[2], n = p.output_channels, panel = kernels_->panel;
  const int64_t height = pixels >= functions_->max_rows ? functions_->max_rows : 1;
  const float* bias = tile.initial;
  tile.k = k();
  tile.b_panel_stride = panel_stride(*kernels_, k());
  tile.rows = static_cast<int>(height);
  tile.output_stride = output_stride;
  for (int64_t c = 0; c < n; c += panel) {
    tile.b = packed_.at(c / panel * tile.b_panel_stride * sizeof(float));
    tile.columns = static_cast<int>(std::min(panel, n - c));
    tile.initial = bias == nullptr ? nullptr : bias + c;
    for (int64_t x = 0; x < pixels; x += height) {
      const int64_t first = std::min(x, pixels - height);
      tile.a = rows + first * p.stride[2];
      tile.output =
          static_cast<char*>(output) + (first * output_stride + c) * element_size(tile.output_type);
      functions_->run({tile, offsets_.data(), static_cast<int>(p.stride[2])});
    }
  }
}

/// With the bias and, where there is nothing else, the activation.
Tile StemConvolution::register_tile(const ConvArguments& arguments) const {
  Tile tile;
  if (registers_.bias >= 0)
    tile.initial = static_cast<const float*>(arguments.operands[registers_.bias].data);
  if (registers_.residual >= 0 || registers_.rest != static_cast<int>(problem_.steps.size()))
    return tile;
  tile.activation = registers_.activation;
  tile.low = registers_.low;
  tile.high = registers_.high;
  return tile;
}

/// register_tile() takes the activation only where nothing follows it.
int StemConvolution::functions_from() const {
  return registers_.rest == static_cast<int>(problem_.steps.size()) ? registers_.rest
                                                                    : registers_.bias + 1;
}

void StemConvolution::run_line_to(const ConvArguments& arguments, int64_t index, float* to,
                                  char* scratch) const {
  float* rows = reinterpret_cast<float*>(scratch);
  copy_rows(arguments.input, index, rows);
  multiply(rows, register_tile(arguments), to, problem_.output_channels);
}

void StemConvolution::run_line(const ConvArguments& arguments, int64_t index, char* scratch) const {
  const ConvProblem& p = problem_;
  const int64_t row = index * p.output[2];
  float* rows = reinterpret_cast<float*>(scratch);
  copy_rows(arguments.input, index, rows);
  void* output = static_cast<char*>(arguments.output) +
                 row * p.output_pixel_stride * element_size(p.output_type);
  Tile tile = register_tile(arguments);
  if (registers_.residual < 0 && registers_.rest == static_cast<int>(p.steps.size())) {
    tile.output_type = p.output_type;
    return multiply(rows, tile, output, p.output_pixel_stride);
  }
  float* line = reinterpret_cast<float*>(scratch + row_bytes());
  multiply(rows, tile, line, p.output_channels);
  const int begin = registers_.bias + 1;
  finish_({.tile = line,
           .tile_stride = p.output_channels,
           .rows = p.output[2],
           .columns = p.output_channels,
           .row = row,
           .output = output,
           .output_stride = p.output_pixel_stride,
           .output_type = p.output_type},
          std::span<const EpilogueStep>(p.steps).subspan(begin), arguments.operands + begin);
}

}  // namespace tenon::cpu
