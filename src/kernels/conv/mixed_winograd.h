#pragma once

#include <array>

#include "kernels/conv/winograd.h"

namespace tenon::cpu {

// Products take so many input channels at a time, for so many output channels.
inline constexpr int64_t kMixedDepth = 64;
inline constexpr int64_t kMixedPanel = 32;

/// Along an axis a kernel's three weights take six forms, and a tile of four, three or two pixels
/// has numbers to multiply some of them with: tiles of one class more than others.
///
/// Stride 1: forms are the points 0, 1, -1, 2, -2 and infinity; tiles of two take those of class 0,
/// tiles of three 2 (class 1) as well, tiles of four -2 (class 2) too.
/// Stride 2: pixels at even places meet the first and the third weight, at the points 0, 1, -1, 2
/// and infinity; tiles of three take -1 (class 1), tiles of four 2 (class 2) as well. Pixels at odd
/// places meet the second weight as it is (class 3): a tile has as many of them as outputs.
inline constexpr int kMixedForms = 6;
inline constexpr int kMixedClasses = 4;
inline constexpr int kMixedOdd = 3;

/// By classes of rows and of columns: a tile's place among the numbers of such forms, or how many
/// there are.
using MixedPlaces = std::array<uint16_t, kMixedClasses * kMixedClasses>;
/// By forms of rows and of columns, 6 * row + column: the first row of an array of numbers.
using MixedRows = std::array<int32_t, kMixedForms * kMixedForms>;

/// Tiles [first, first + count): how many numbers they have of each class.
struct MixedBlock {
  int64_t first = 0, count = 0;
  MixedPlaces rows = {};
};

/// Transforms input tiles to rows of kMixedDepth channels, [depth][row].
struct MixedInput {
  const WinogradShape& shape;
  const void* input;
  ElementType input_type;
  int64_t first, count;
  const MixedPlaces* places;  ///< of tile 0
  const MixedRows& rows;
  float* to;             ///< of the block that has these tiles
  int64_t depth_stride;  ///< between blocks of kMixedDepth channels
};

/// Up to three forms of rows that share a form of columns, each with its own numbers:
/// sums[q][row][column] (+)= sum over k of numbers[q][row][k] * weights in form q [k][column].
struct MixedProduct {
  const float* weights;  ///< [k][three rows of the kernel][column]
  int64_t k_stride, row_stride;
  const float* numbers[3];  ///< rows are kMixedDepth apart
  float* sums[3];           ///< rows are kMixedPanel apart
  int64_t k;
  bool adds;
  /// A stretch to fetch meanwhile, so many bytes a step of k.
  const char* fetch;
  int64_t fetch_step;
};
using MixedProductFunction = void (*)(const MixedProduct&);

/// Takes plain weights, [k][9][kMixedPanel], to those forms along their rows which are none of
/// them: [form][kMixedDepth][3][kMixedPanel].
struct MixedWeights {
  const float* plain;
  float* to;
  int64_t k;
  const char* fetch;  ///< as of a product
  int64_t fetch_step;
};

/// Forms of rows that one product takes.
struct MixedSet {
  int forms[3];
  int count;
  int rows_at_once;  ///< of each form
};

/// The parts that differ by stride.
struct MixedFunctions {
  int classes[kMixedForms];
  int taps[kMixedForms];  ///< the weight that a form is, or -1
  MixedSet sets[3];
  int set_count;
  void (*input)(const MixedInput&);
  /// Sums are [row][kMixedPanel].
  void (*output)(const WinogradOutput&, const MixedPlaces* places, const MixedRows& rows);
  void (*weights)(const MixedWeights&);
  /// The product of a set for so many rows of each form.
  MixedProductFunction (*product)(int set, const int* rows);
};
extern const MixedFunctions kMixedAvx512;
extern const MixedFunctions kMixedStridedAvx512;

/// 3x3 convolution with stride 1 or 2 by Winograd's algorithm whose weights stay as they are:
/// transformed along one axis in the cache and along the other in registers, just before they are
/// multiplied. They are a quarter of the transformed ones, which counts where an image has few
/// pixels and many channels. Tiles at the end of an image that is no multiple of four are smaller
/// ones. With stride 2 the two sets of pixels take 7/16 fewer multiplications.
class MixedWinograd {
 public:
  static bool fits(const ConvProblem& problem);
  /// Whether it may be the fastest: with stride 1 where transformed weights are too large for a
  /// second-level cache.
  static bool pays(const ConvProblem& problem);
  /// Whether transformed weights would take memory longer than the products of the few tiles. A
  /// layer that is timed alone finds them in the cache, one among others does not.
  static bool pays_in_networks(const ConvProblem& problem);
  /// `weights` in ONNX order: output x input x 3 x 3.
  static Result<MixedWinograd> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Memory of one worker, in floats from its start; sums come first.
  struct WorkerMemory {
    int64_t tile, weights, numbers, size;
  };
  /// Two stretches to fetch by turns, so many bytes a step of k: the next weights of this layer,
  /// and the prefetched data.
  struct Fetches {
    const char* at[2];
    int64_t step[2];
    int count, turn = 0;
    void give(MixedProduct& product);
  };

  Status pack(const void* weights);
  void place_tiles();
  void count_rows();
  int64_t panels() const;
  int64_t tasks() const { return static_cast<int64_t>(blocks_.size()) * panels(); }
  int64_t depths() const { return (shape_.channels + kMixedDepth - 1) / kMixedDepth; }
  int64_t numbers_size() const;      // of a block
  bool transforms_together() const;  // before all products, or every thread for itself
  int64_t calls(const MixedPlaces& rows, int column, const MixedSet& set) const;
  WorkerMemory worker_memory() const;
  void transform(const ConvArguments& arguments, int64_t first, int64_t count, float* to) const;
  void transform_all(const ConvArguments& arguments, ThreadPool& pool, float* to) const;
  void run_task(const ConvArguments& arguments, int64_t task, const float* numbers,
                float* memory) const;
  void multiply(const MixedBlock& block, const float* plain, const float* numbers, float* memory,
                std::span<const std::byte> ahead) const;
  void multiply_column(const MixedBlock& block, int column, const float* numbers, float* sums,
                       MixedProduct& product, Fetches& fetches) const;
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
  MixedRows rows_ = {};
  int64_t all_rows_ = 0;
  PackedWeights packed_;
};

}  // namespace tenon::cpu
