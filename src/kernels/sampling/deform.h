#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/gemm/product.h"
#include "kernels/movement/strided_copy.h"

/// Deformable convolution in float: a matrix product whose rows, one a pixel of the result, are
/// sampled where the offsets say, block by block into the cache.
namespace tenon::cpu {

using ImageExtents = std::array<int64_t, 2>;

struct DeformProblem {
  int64_t batch = 1, channels = 1, filters = 1, groups = 1, offset_groups = 1;
  ImageExtents input{1, 1}, output{1, 1}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, pad{0, 0};
  bool has_bias = false, has_mask = false;
  /// Elements from one pixel to the next in channels-last images; 0: the image is dense and its
  /// channels come first.
  int64_t x_pixel = 0, y_pixel = 0;
  Isa isa = detected_isa();
  int threads = 1;
  std::span<const std::byte> packed;  ///< See tenon::Problem.
};

/// Addresses of one run; bias and mask may be null. Offsets and mask are dense, channels first.
struct DeformArguments {
  const float *x = nullptr, *offsets = nullptr, *bias = nullptr, *mask = nullptr;
  float* y = nullptr;
};

/// Four pixels around a point, with their parts; those outside have none.
struct DeformPoint {
  const float* pixels[4];
  float parts[4];
};

/// to[c] = the point's mean of channel c.
using DeformFunction = void (*)(const DeformPoint& point, int64_t channels, float* to);
TENON_FUNCTION_BY_ISA(DeformFunction, deform_point)

class DeformConvolution {
 public:
  /// `weights` in ONNX order: filter x channel of the group x kernel.
  static Result<DeformConvolution> prepare(const DeformProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  void run(const DeformArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  struct Pixel {
    int64_t image, row, column;
  };

  int64_t taps() const { return problem_.kernel[0] * problem_.kernel[1]; }
  int64_t positions() const { return problem_.output[0] * problem_.output[1]; }
  int64_t group_channels() const { return problem_.channels / problem_.groups; }
  int64_t group_filters() const { return problem_.filters / problem_.groups; }
  size_t x_bytes() const;  ///< of the images with channels last, where they are not
  size_t y_bytes() const;
  size_t worker_bytes() const;
  void pack(const float* weights);
  DeformPoint point(const DeformArguments& arguments, const Pixel& pixel, int64_t tap,
                    int64_t offset_group) const;
  /// Columns [k, k + count) of the rows of one group; x has its channels last.
  void sample(const DeformArguments& arguments, int64_t group, int64_t row, int64_t rows, int64_t k,
              int64_t count, float* to, int64_t to_stride) const;
  void multiply(const DeformArguments& arguments, ThreadPool& pool, char* scratch) const;

  DeformProblem problem_;
  DeformFunction mix_ = nullptr;
  ProductPlan plan_;
  PackedWeights packed_;
  size_t packed_each_ = 0;  ///< of a group
  StridedCopy from_x_, to_y_;
};

}  // namespace tenon::cpu
