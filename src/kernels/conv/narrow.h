#pragma once

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/problem.h"

namespace tenon::cpu {

/// Most output channels of a NarrowConvolution.
inline constexpr int kMostNarrowChannels = 4;
/// Most rows of taps: the kernel's depth times its height.
inline constexpr int64_t kMostNarrowRows = 64;

/// Some pixels of one output line, for the kernels of an instruction set. The input of a row of
/// taps is contiguous in a channels-last image: `row_length` numbers, less at the borders.
struct NarrowLine {
  const float* input = nullptr;  ///< of the image
  const float* weights = nullptr;
  int64_t row_length = 0, weight_stride = 0;  ///< From one row of taps to the next.
  int64_t channels = 0;                       ///< of the input
  int outputs = 0;                            ///< `weight_rows` rows of taps for each
  int64_t weight_rows = 0;
  Spatial extents = {}, kernel = {}, stride = {}, dilation = {}, pad = {};
  int64_t depth = 0, height = 0, first = 0;  ///< position of the first pixel in the output
  int64_t pixels = 0;
  float* tile = nullptr;  ///< pixels x tile_stride
  int64_t tile_stride = 0;
};

using NarrowFunction = void (*)(const NarrowLine& line);
TENON_FUNCTION_BY_ISA(NarrowFunction, narrow)

/// Convolution to few channels, as at the end of image generators: sums run along the contiguous
/// rows of the window, where a matrix product would leave most of its columns empty.
class NarrowConvolution {
 public:
  static bool fits(const ConvProblem& problem);
  /// `weights` in ONNX order: output x input x kernel.
  static Result<NarrowConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return weights_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  int64_t weight_stride() const;
  void pack(const float* weights, float* to) const;
  void run_piece(const ConvArguments& arguments, int64_t line, int64_t first, float* tile) const;

  ConvProblem problem_;
  NarrowFunction kernel_ = nullptr;
  FinishFunction finish_ = nullptr;
  PackedWeights weights_;
};

}  // namespace tenon::cpu
