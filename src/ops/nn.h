#pragma once

#include "ops/op_kind.h"

namespace tenon {

/// How a window operator's padding is given. The `same` modes derive it from the input's extents.
enum class PadMode { kExplicit, kSameUpper, kSameLower };
TENON_ENUM_NAMES(PadMode, "explicit", "same_upper", "same_lower")

/// Strides, dilations and pads hold one number a spatial axis; empty vectors stand for 1, 1, 0.
struct Conv final : OpBase<Conv> {
  TENON_OP_HEADER(Conv, "conv");
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  PadMode pad_mode = PadMode::kExplicit;
  int64_t groups = 1;
  TENON_ATTRIBUTES(strides, dilations, pads_begin, pads_end, pad_mode, groups);
};

/// output = (input - 1) * stride + output_padding + (kernel - 1) * dilation + 1 - pads, unless
/// output_shape is given.
struct Deconv final : OpBase<Deconv> {
  TENON_OP_HEADER(Deconv, "deconv");
  std::vector<int64_t> strides, dilations, pads_begin, pads_end, output_padding, output_shape;
  PadMode pad_mode = PadMode::kExplicit;
  int64_t groups = 1;
  TENON_ATTRIBUTES(strides, dilations, pads_begin, pads_end, output_padding, output_shape, pad_mode,
                   groups);
};

struct DeformConv final : OpBase<DeformConv> {
  TENON_OP_HEADER(DeformConv, "deform_conv");
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  int64_t groups = 1, offset_groups = 1;
  TENON_ATTRIBUTES(strides, dilations, pads_begin, pads_end, groups, offset_groups);
};

enum class PoolFunction { kMax, kAverage, kLp };
TENON_ENUM_NAMES(PoolFunction, "max", "average", "lp")

/// Global pooling is Reduce.
struct Pool final : OpBase<Pool> {
  TENON_OP_HEADER(Pool, "pool");
  PoolFunction function = PoolFunction::kMax;
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  PadMode pad_mode = PadMode::kExplicit;
  bool ceil_mode = false;
  bool count_include_pad = false;
  int64_t p = 2;                      ///< Exponent of kLp.
  bool column_major_indices = false;  ///< ONNX storage_order of the indices.
  TENON_ATTRIBUTES(function, kernel, strides, dilations, pads_begin, pads_end, pad_mode, ceil_mode,
                   count_include_pad, p, column_major_indices);
};

struct MaxUnpool final : OpBase<MaxUnpool> {
  TENON_OP_HEADER(MaxUnpool, "max_unpool");
  std::vector<int64_t> kernel, strides, pads_begin, pads_end;
  TENON_ATTRIBUTES(kernel, strides, pads_begin, pads_end);
};

enum class RoiFunction { kAlignAverage, kAlignMax, kPoolMax };
TENON_ENUM_NAMES(RoiFunction, "align_average", "align_max", "pool_max")

struct RoiPool final : OpBase<RoiPool> {
  TENON_OP_HEADER(RoiPool, "roi_pool");
  RoiFunction function = RoiFunction::kAlignAverage;
  int64_t height = 1, width = 1, sampling_ratio = 0;
  double spatial_scale = 1;
  bool half_pixel = true;
  TENON_ATTRIBUTES(function, height, width, sampling_ratio, spatial_scale, half_pixel);
};

struct Softmax final : OpBase<Softmax> {
  TENON_OP_HEADER(Softmax, "softmax");
  std::vector<int64_t> axes;
  bool log = false;
  TENON_ATTRIBUTES(axes, log);
};

struct Hardmax final : OpBase<Hardmax> {
  TENON_OP_HEADER(Hardmax, "hardmax");
  int64_t axis = -1;
  TENON_ATTRIBUTES(axis);
};

enum class NormKind { kLayer, kRms, kInstance, kGroup };
TENON_ENUM_NAMES(NormKind, "layer", "rms", "instance", "group")

/// (x - mean) / sqrt(variance + epsilon) * scale + bias; RMS does not subtract the mean. Layer and
/// RMS normalize over the axes from `axis` on, and scale and bias broadcast to those axes; instance
/// and group over the spatial axes (and the channels of a group), with scale and bias of one number
/// a channel.
struct Normalization final : OpBase<Normalization> {
  TENON_OP_HEADER(Normalization, "normalization");
  NormKind norm = NormKind::kLayer;
  int64_t axis = -1, groups = 1;
  double epsilon = 1e-5;
  DataType compute = DataType::kFloat32;
  TENON_ATTRIBUTES(norm, axis, groups, epsilon, compute);
  /// Over the last axes, not the pixels of each channel.
  bool over_rows() const { return norm == NormKind::kLayer || norm == NormKind::kRms; }
};

/// Mean and sum of squared deviations of each `group` elements along the last axis: x[..., k] gives
/// f32 [..., k / group, 2].
struct RowMoments final : OpBase<RowMoments> {
  TENON_OP_HEADER(RowMoments, "row_moments");
  int64_t group = 32;
  TENON_ATTRIBUTES(group);
};

/// Layer or RMS normalization over the last axis by moments of x that are known: (x - mean) /
/// sqrt(variance + epsilon), RMS without the mean. Inputs x and its row_moments.
struct Standardize final : OpBase<Standardize> {
  TENON_OP_HEADER(Standardize, "standardize");
  NormKind norm = NormKind::kLayer;
  double epsilon = 1e-5;
  TENON_ATTRIBUTES(norm, epsilon);
};

struct BatchNorm final : OpBase<BatchNorm> {
  TENON_OP_HEADER(BatchNorm, "batch_norm");
  double epsilon = 1e-5;
  TENON_ATTRIBUTES(epsilon);
};

/// x / (bias + alpha / size * sum of squares over `size` channels)^beta.
struct Lrn final : OpBase<Lrn> {
  TENON_OP_HEADER(Lrn, "lrn");
  int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;
  TENON_ATTRIBUTES(size, alpha, beta, bias);
};

enum class ResizeMode { kNearest, kLinear, kCubic };
TENON_ENUM_NAMES(ResizeMode, "nearest", "linear", "cubic")
enum class CoordinateMode {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize
};
TENON_ENUM_NAMES(CoordinateMode, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                 "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize")
enum class NearestMode { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
TENON_ENUM_NAMES(NearestMode, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
enum class AspectPolicy { kStretch, kNotLarger, kNotSmaller };
TENON_ENUM_NAMES(AspectPolicy, "stretch", "not_larger", "not_smaller")

/// Inputs x, roi, scales, sizes (of the axes in `axes`, all when empty); exactly one of scales and
/// sizes is present.
struct Resize final : OpBase<Resize> {
  TENON_OP_HEADER(Resize, "resize");
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  AspectPolicy aspect = AspectPolicy::kStretch;
  double cubic_coefficient = -0.75, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<int64_t> axes;
  TENON_ATTRIBUTES(mode, coordinates, nearest, aspect, cubic_coefficient, extrapolation_value,
                   exclude_outside, antialias, axes);
};

enum class GridPadding { kZeros, kBorder, kReflection };
TENON_ENUM_NAMES(GridPadding, "zeros", "border", "reflection")

struct GridSample final : OpBase<GridSample> {
  TENON_OP_HEADER(GridSample, "grid_sample");
  ResizeMode mode = ResizeMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
  TENON_ATTRIBUTES(mode, padding, align_corners);
};

struct AffineGrid final : OpBase<AffineGrid> {
  TENON_OP_HEADER(AffineGrid, "affine_grid");
  bool align_corners = false;
  TENON_ATTRIBUTES(align_corners);
};

enum class CausalMask { kNone, kUpperLeft, kLowerRight };
TENON_ENUM_NAMES(CausalMask, "none", "upper_left", "lower_right")
/// Which step of the score computation the optional fourth output shows (ONNX
/// qk_matmul_output_mode).
enum class ScoresOutput { kScaled, kMasked, kCapped, kSoftmax };
TENON_ENUM_NAMES(ScoresOutput, "scaled", "masked", "capped", "softmax")

/// Inputs q, k, v: [B,heads,S,H], or [B,S,heads*H] when the head counts are given (ONNX 3-D form),
/// or [B,S,heads,H] where the `_bsnh` flags say so (a transposed view that needs no copy). The mask
/// broadcasts to [B,heads,Sq,Skv]: bool (true keeps) or additive. scale 0 stands for 1/sqrt(H).
/// Output in the form of q, or [B,S,heads,H] with out_bsnh.
struct Attention final : OpBase<Attention> {
  TENON_OP_HEADER(Attention, "attention");
  double scale = 0, softcap = 0;
  CausalMask causal = CausalMask::kNone;
  int64_t q_heads = 0, kv_heads = 0;
  bool q_bsnh = false, k_bsnh = false, v_bsnh = false, out_bsnh = false;
  bool masked_rows_zero = false;  ///< Rows whose every score is masked give 0 instead of NaN.
  ScoresOutput scores = ScoresOutput::kScaled;
  DataType softmax_type = DataType::kFloat32;
  /// Operations on scores before masks are added: passes/attention_pattern.h makes such steps, as
  /// ops/scalar_steps.h writes them.
  std::vector<std::string> score_steps;
  /// Likewise on scores with their masks, which are added then, and on weights ahead of their
  /// rounding, which there must be then.
  std::vector<std::string> masked_steps, weight_steps;
  /// Where it is not 0, weights are rounded to multiples of it, `weights_limit` times it at most:
  /// quantized and dequantized. The multiples are numbers of weights_type: integers, or f8e4m3 or
  /// f8e5m2.
  double weights_step = 0;
  int64_t weights_limit = 0;
  DataType weights_type = DataType::kInt8;
  TENON_ATTRIBUTES(scale, softcap, causal, q_heads, kv_heads, q_bsnh, k_bsnh, v_bsnh, out_bsnh,
                   masked_rows_zero, scores, softmax_type, score_steps, masked_steps, weight_steps,
                   weights_step, weights_limit, weights_type);
};

struct RotaryEmbedding final : OpBase<RotaryEmbedding> {
  TENON_OP_HEADER(RotaryEmbedding, "rotary_embedding");
  bool interleaved = false;
  int64_t rotary_dim = 0, heads = 0;
  TENON_ATTRIBUTES(interleaved, rotary_dim, heads);
};

enum class RnnKind { kLstm, kGru, kRnn };
TENON_ENUM_NAMES(RnnKind, "lstm", "gru", "rnn")
enum class RnnDirection { kForward, kReverse, kBidirectional };
TENON_ENUM_NAMES(RnnDirection, "forward", "reverse", "bidirectional")

/// ONNX LSTM, GRU and RNN with their gate orders; `activations` are ONNX names, lower case, empty
/// for the default.
struct Rnn final : OpBase<Rnn> {
  TENON_OP_HEADER(Rnn, "rnn");
  RnnKind cell = RnnKind::kLstm;
  RnnDirection direction = RnnDirection::kForward;
  int64_t hidden = 0;
  std::vector<std::string> activations;
  std::vector<double> activation_alpha, activation_beta;
  double clip = 0;  ///< 0: none.
  bool input_forget = false, linear_before_reset = false, batch_first = false;
  TENON_ATTRIBUTES(cell, direction, hidden, activations, activation_alpha, activation_beta, clip,
                   input_forget, linear_before_reset, batch_first);
};

/// Outputs [n,3] rows of batch, class, box index; n is data-dependent.
struct Nms final : OpBase<Nms> {
  TENON_OP_HEADER(Nms, "nms");
  bool center_point_box = false;
  TENON_ATTRIBUTES(center_point_box);
};

}  // namespace tenon
