#pragma once

#include <array>
#include <vector>

#include "kernels/conv/depthwise.h"

namespace tenon::cpu {

/// Transposed convolution of every channel by itself. Every stride-th pixel of the result meets the
/// same taps, and neighbours of these meet neighbours in the image: a depthwise convolution of the
/// image by some of the taps, for each residue of a pixel's position.
class DepthwiseDeconvolution {
 public:
  static bool fits(const ConvProblem& problem);
  /// `weights` in ONNX order: channels x 1 x kernel.
  static Result<DepthwiseDeconvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const { return 0; }
  std::span<const std::byte> packed() const { return weights_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// The positions of one residue along an axis. The i-th one meets tap n of these at place
  /// i + shift + n * step of the image.
  struct AxisPhase {
    std::vector<int64_t> taps;
    int64_t shift = 0, step = 1;
  };

  AxisPhase phase_of(int axis, int64_t residue) const;
  /// Of the positions (depth, row, column) by their residues.
  size_t index_of(const Spatial& residue) const;
  const AxisPhase& axis_phase(int axis, int64_t residue) const { return axes_[axis][residue]; }
  void pack(const void* weights);
  void run_line(const ConvArguments& arguments, int64_t index) const;

  ConvProblem problem_;
  DepthwiseFunction kernel_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  std::array<std::vector<AxisPhase>, 3> axes_;
  std::vector<int64_t> first_tap_;  ///< In `weights_`, of each combination of residues.
  int64_t padded_channels_ = 0;
  PackedWeights weights_;  ///< taps x channels (padded)
};

}  // namespace tenon::cpu
