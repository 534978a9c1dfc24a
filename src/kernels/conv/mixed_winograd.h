#pragma once

#include <array>

#include "kernels/conv/winograd.h"

namespace tenon::cpu {

// Products take so many input channels at a time, for so many output channels.
inline constexpr int64_t kMixedDepth = 64;
inline constexpr int64_t kMixedPanel = 32;
inline constexpr int kMixedPoints = 36;

/// Tiles have four, three or two rows and columns of pixels, as the image's extent leaves. All take
/// the points 0, 1, -1 and infinity (class 0); those of three 2 as well (class 1), those of four
/// also -2 (class 2). In that order, infinity last.
inline constexpr int kMixedClass[6] = {0, 0, 0, 1, 2, 0};

/// For each class of rows and of columns, 3 * rows' + columns': a tile's place among the tiles that
/// take such points.
using MixedPlaces = std::array<uint16_t, 9>;

/// Tiles [first, first + count): how many take points of each class.
struct MixedBlock {
  int64_t first = 0, count = 0;
  MixedPlaces rows = {};
};

/// Transforms input tiles to [depth][point][place][kMixedDepth channels].
struct MixedInput {
  const WinogradShape& shape;
  const void* input;
  ElementType input_type;
  int64_t first, count;
  const MixedPlaces* places;  ///< of tile 0
  float* to;                  ///< of the block that has these tiles
  int64_t point_stride, depth_stride;
};

/// Three points that take the same column of weights, each with its own tiles:
/// sums[q][row][column] (+)= sum over k of tiles[q][row][k] * weights of q [k][column].
struct MixedProduct {
  const float* weights;  ///< [k][three rows of the kernel][column]
  int64_t k_stride, row_stride;
  const float* tiles[3];  ///< rows are kMixedDepth apart
  float* sums[3];         ///< rows are kMixedPanel apart
  int64_t k;
  bool adds;
  /// A stretch to fetch meanwhile, so many bytes a step of k.
  const char* fetch;
  int64_t fetch_step;
};
using MixedProductFunction = void (*)(const MixedProduct&);

struct MixedFunctions {
  void (*input)(const MixedInput&);
  /// Sums are [point][place][kMixedPanel].
  void (*output)(const WinogradOutput&, const MixedPlaces* places);
  /// Takes plain weights, [k][9][kMixedPanel], to the points 1, -1, 2 and -2 along their rows:
  /// [point][kMixedDepth][3][kMixedPanel].
  void (*weights)(const float* plain, float* to, int64_t k);
  /// Points 0, 1 and -1 along columns, by the rows of each.
  MixedProductFunction near[5];
  /// Points 2, -2 and infinity, by the rows of each.
  MixedProductFunction far[5][5][5];
};
extern const MixedFunctions kMixedAvx512;

/// 3x3 convolution by Winograd's algorithm whose weights stay as they are: transformed along one
/// axis in the cache and along the other in registers, just before they are multiplied. They are a
/// quarter of the transformed ones, which count where an image has few pixels and many channels.
/// Tiles at the end of an image that is no multiple of four are smaller ones, whose points are
/// among the others'.
class MixedWinograd {
 public:
  static bool fits(const ConvProblem& problem);
  /// `weights` in ONNX order: output x input x 3 x 3.
  static Result<MixedWinograd> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Memory of one worker, in floats from its start.
  struct WorkerMemory {
    int64_t tile, weights, tiles, size;
  };
  /// What a task fetches beside its own weights.
  struct Fetch {
    const char* at;
    int64_t step;  ///< a step of k
  };

  Status pack(const void* weights);
  void place_tiles();
  int64_t panels() const;
  int64_t tasks() const { return static_cast<int64_t>(blocks_.size()) * panels(); }
  int64_t point_stride() const { return block_tiles_ * kMixedDepth + 16; }
  int64_t depth_stride() const { return kMixedPoints * point_stride(); }
  int64_t depths() const { return (shape_.channels + kMixedDepth - 1) / kMixedDepth; }
  int64_t sums_stride() const { return block_tiles_ * kMixedPanel + 16; }
  bool transforms_together() const;  // before all products, or every thread for itself
  WorkerMemory worker_memory() const;
  void transform(const ConvArguments& arguments, int64_t first, int64_t count, float* to) const;
  void transform_all(const ConvArguments& arguments, ThreadPool& pool, float* to) const;
  void run_task(const ConvArguments& arguments, int64_t task, const float* tiles,
                float* memory) const;
  void multiply(const MixedBlock& block, const float* plain, const float* tiles, float* memory,
                std::span<const std::byte> ahead) const;
  void multiply_column(const MixedBlock& block, int column, const float* tiles, float* sums,
                       MixedProduct& product, Fetch& ahead) const;
  void finish(const ConvArguments& arguments, const MixedBlock& block, int64_t channel,
              float* memory) const;

  ConvProblem problem_;
  WinogradShape shape_;
  const MixedFunctions* functions_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  int64_t block_tiles_ = 0;  // most tiles of a block
  std::vector<MixedBlock> blocks_;
  std::vector<MixedPlaces> places_;
  PackedWeights packed_;
};

}  // namespace tenon::cpu
