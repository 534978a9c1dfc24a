#pragma once

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/problem.h"
#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

/// The transforms' view of a 3x3 convolution; arrays of transformed numbers are
/// [point][tile][slice][channel]. A window of a volume meets `slices` images: their channels count
/// like those of one image.
struct WinogradShape {
  int64_t batch = 0, channels = 0, filters = 0;
  int64_t depth = 1, out_depth = 1;  ///< images of an input and of an output
  int64_t slices = 1, slice_step = 1, slice_dilation = 1, pad_front = 0;
  int64_t height = 0, width = 0;  ///< of the input
  int64_t out_height = 0, out_width = 0;
  int64_t pad_top = 0, pad_left = 0;
  int64_t input_stride = 0, output_stride = 0;  ///< between pixels
  /// A dilated window sees every so manieth row and column only: each residue of the output
  /// position is an image of its own.
  int64_t dilation_high = 1, dilation_wide = 1;
  int64_t tiles_high = 0, tiles_wide = 0;  ///< of such an image
  int64_t residues() const { return dilation_high * dilation_wide; }
  int64_t tiles() const { return batch * out_depth * residues() * tiles_high * tiles_wide; }
  /// The input image that a slice of an output image's windows lies in; -1 for padding.
  int64_t input_image(int64_t output_image, int64_t slice) const {
    const int64_t at = output_image % out_depth * slice_step + slice * slice_dilation - pad_front;
    return at < 0 || at >= depth ? -1 : output_image / out_depth * depth + at;
  }
  static WinogradShape of(const ConvProblem& problem, int tile);
};

/// Transforms input tiles [first, first + count).
struct WinogradInput {
  const WinogradShape& shape;
  const void* input;
  ElementType input_type;
  int64_t first, count;
  float* to;  ///< of point 0, tile `first`
  int64_t point_stride, tile_stride;
};

/// Transforms sums back and finishes pixels of tiles [first, first + count), channels [channel,
/// channel + channels).
struct WinogradOutput {
  const WinogradShape& shape;
  const float* sums;  ///< of point 0, tile `first`, the first channel
  int64_t point_stride, tile_stride;
  int64_t first, count, channel, channels;
  const float* bias;     ///< of channel 0, or null
  const void* residual;  ///< of the whole output, or null
  int64_t residual_stride;
  RegisterActivation activation;
  float low, high;
  void* output;
  ElementType output_type;
  /// Where steps remain for a FinishFunction: scratch for one tile, and the call.
  float* tile;
  FinishFunction finish;
  std::span<const EpilogueStep> steps;
  const EpilogueOperand* operands;
};

/// The part of it that is the same for all tiles of a convolution; the rest is empty.
WinogradOutput epilogue_of(const ConvProblem& problem, const RegisterEpilogue& registers,
                           FinishFunction finish, const WinogradShape& shape,
                           const ConvArguments& arguments);

/// Transforms the weights of one input channel and a panel of output channels.
struct WinogradWeights {
  const float* nine;  ///< [tap][column]
  int64_t columns;    ///< whole vectors
  float* to;          ///< of point 0
  int64_t point_stride;
};

/// The transforms of one instruction set for output tiles of 2x2 and of 4x4 pixels.
struct WinogradFunctions {
  void (*input[2])(const WinogradInput&);
  void (*output[2])(const WinogradOutput&);
  void (*weights[2])(const WinogradWeights&);
};
extern const WinogradFunctions kWinogradGeneric;
extern const WinogradFunctions kWinogradAvx2;
extern const WinogradFunctions kWinogradAvx512;

/// 3x3 convolution, also dilated, of groups, or of volumes (with any extent, stride and dilation of
/// the window along the depth), in float with 4 (4x4 pixels a tile) or 2.25 times
/// (2x2) fewer multiplications. Weights may come with each run. Computes in float where tensors are
/// bf16 too. Rounds differently from the direct sum: relative errors of about 1e-6 to 1e-5.
template <int kTile> class WinogradConvolution {
 public:
  static constexpr int kPoints = (kTile + 2) * (kTile + 2);
  static bool fits(const ConvProblem& problem);
  /// `weights` in ONNX order: output x input x (depth x) 3 x 3.
  /// Null where they come with each run.
  static Result<WinogradConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Tiles [first, first + count) with their transformed input, from point 0 on.
  struct Tiles {
    int64_t first, count;
    const float* transformed;
    int64_t there;  ///< tiles from one point to the next
  };

  Status pack(const void* weights);
  size_t packed_bytes() const { return packed_each_ * kPoints; }
  void transform_weights(const void* weights, ThreadPool& pool, char* to) const;
  void load_weights(const void* weights, int64_t filter, int64_t count, int64_t channel,
                    float* nine) const;
  void choose_blocks();
  /// Numbers that a product of one point sums over.
  int64_t group_channels() const { return shape_.slices * shape_.channels / problem_.groups; }
  int64_t group_filters() const { return shape_.filters / problem_.groups; }
  /// Of all groups; none holds channels of two.
  int64_t channel_blocks() const {
    return problem_.groups * ((group_filters() + channel_block_ - 1) / channel_block_);
  }
  int64_t row_stride() const;  // floats between tiles of transformed input
  int64_t blocks() const { return (shape_.tiles() + tile_block_ - 1) / tile_block_; }
  int64_t parts() const;             // tasks that share a block
  bool transforms_together() const;  // before all products, or every thread for itself
  size_t transformed_bytes() const;  // of one block, or of all when together
  size_t transformed_at() const;     // in the memory of a worker that transforms alone
  size_t worker_bytes() const;
  void transform(const ConvArguments& arguments, int64_t first, int64_t count, float* to,
                 int64_t tiles) const;
  void run_together(const ConvArguments& arguments, ThreadPool& pool, char* scratch) const;
  void run_alone(const ConvArguments& arguments, ThreadPool& pool, char* scratch) const;
  void run_part(const ConvArguments& arguments, const Tiles& tiles, int64_t part,
                float* sums) const;
  /// Channels [channel, channel + channels) of a group.
  void multiply(const char* packed, const Tiles& tiles, int64_t group, int64_t channel,
                int64_t channels, float* sums) const;
  void finish(const ConvArguments& arguments, const Tiles& tiles, int64_t channel, int64_t channels,
              float* sums) const;

  ConvProblem problem_;
  WinogradShape shape_;
  const Microkernels* kernels_ = nullptr;
  const WinogradFunctions* functions_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  int64_t tile_block_ = 0;     // tiles of one task
  int64_t channel_block_ = 0;  // output channels between two output transforms
  bool shared_ = false;        // several tasks, cut by channels, meet the same tiles
  PackedWeights packed_;
  size_t packed_each_ = 0;   // bytes of one point's weights
  size_t packed_group_ = 0;  // and of one group's among them
};

}  // namespace tenon::cpu
