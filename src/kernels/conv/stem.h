#pragma once

#include <vector>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/problem.h"
#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

/// Some pixels of one output line times one panel of weights. `tile.a` is the first pixel's corner
/// among the padded input rows; step k reads at offsets[k] from it, the next pixel lies `step`
/// elements further.
struct StemTile {
  Tile tile;
  const int32_t* offsets;
  int step;
};

/// The matrix kernels of one instruction set over pixels that lie side by side.
struct StemFunctions {
  int max_rows;  ///< tiles have so many rows, or one
  void (*run)(const StemTile& tile);
  /// The largest of `count` numbers each, or NaN where one is.
  void (*maximum)(const float* const* from, int count, int64_t n, void* to, ElementType type);
};
extern const StemFunctions kStemGeneric;
extern const StemFunctions kStemAvx2;
extern const StemFunctions kStemAvx512;

/// Convolution of images of few channels to channels-last ones, as at the start of networks: of one
/// channel, or channels-first. Only the input rows of one line are copied, with their padding;
/// products read the pixels there, where a matrix of all windows would cost more than the products
/// themselves.
class StemConvolution {
 public:
  static bool fits(const ConvProblem& problem);
  static bool fits_images(const ConvProblem& problem);  ///< Without depth.
  /// `weights` in ONNX order: output x input x kernel.
  static Result<StemConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

  /// One line alone, in float, with the steps ahead of functions_from().
  void run_line_to(const ConvArguments& arguments, int64_t index, float* to, char* scratch) const;
  size_t line_scratch_bytes() const { return row_bytes(); }
  /// The first step that run_line_to() leaves to its caller.
  int functions_from() const;
  const StemFunctions& functions() const { return *functions_; }

 private:
  Status pack(const void* weights);
  int64_t k() const { return static_cast<int64_t>(offsets_.size()); }
  /// Under a line of output.
  int64_t rows() const { return problem_.input_channels * problem_.kernel[0] * problem_.kernel[1]; }
  size_t row_bytes() const;   // the padded input rows of a line
  size_t line_bytes() const;  // an output line on its way through the last steps
  void copy_rows(const void* input, int64_t index, float* to) const;
  Tile register_tile(const ConvArguments& arguments) const;
  void run_line(const ConvArguments& arguments, int64_t index, char* scratch) const;
  void multiply(const float* rows, Tile tile, void* output, int64_t output_stride) const;

  ConvProblem problem_;
  const Microkernels* kernels_ = nullptr;
  const StemFunctions* functions_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  int64_t padded_width_ = 0;
  std::vector<int32_t> offsets_;  ///< of every (row, tap)
  PackedWeights packed_;
};

}  // namespace tenon::cpu
