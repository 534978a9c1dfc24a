#pragma once

#include "ops/op_kind.h"

namespace tenon {

/// Extents of axes [start, end) as i64; negative bounds count from the end.
struct ShapeOf final : OpBase<ShapeOf> {
  TENON_OP_HEADER(ShapeOf, "shape");
  int64_t start = 0;
  int64_t end = INT64_MAX;
  TENON_ATTRIBUTES(start, end);
};

struct SizeOf final : OpBase<SizeOf> {
  TENON_OP_HEADER(SizeOf, "size");
};

/// With allow_zero a 0 in the shape is an extent of 0.
struct Reshape final : OpBase<Reshape> {
  TENON_OP_HEADER(Reshape, "reshape");
  bool allow_zero = false;
  TENON_ATTRIBUTES(allow_zero);
};

struct Flatten final : OpBase<Flatten> {
  TENON_OP_HEADER(Flatten, "flatten");
  int64_t axis = 1;
  TENON_ATTRIBUTES(axis);
};

/// Without axes drops every axis of extent 1.
struct Squeeze final : OpBase<Squeeze> {
  TENON_OP_HEADER(Squeeze, "squeeze");
};

struct Unsqueeze final : OpBase<Unsqueeze> {
  TENON_OP_HEADER(Unsqueeze, "unsqueeze");
};

/// Output axis i is input axis permutation[i]; empty reverses the axes.
struct Transpose final : OpBase<Transpose> {
  TENON_OP_HEADER(Transpose, "transpose");
  std::vector<int64_t> permutation;
  TENON_ATTRIBUTES(permutation);
};

/// Broadcasts both ways, as ONNX does: an extent of 1 in the shape keeps x's.
struct Expand final : OpBase<Expand> {
  TENON_OP_HEADER(Expand, "expand");
};

struct Tile final : OpBase<Tile> {
  TENON_OP_HEADER(Tile, "tile");
};

struct Concat final : OpBase<Concat> {
  TENON_OP_HEADER(Concat, "concat");
  int64_t axis = 0;
  TENON_ATTRIBUTES(axis);
};

/// Without sizes: equal parts, the last smaller where the extent does not divide.
struct Split final : OpBase<Split> {
  TENON_OP_HEADER(Split, "split");
  int64_t axis = 0;
  TENON_ATTRIBUTES(axis);
};

/// ONNX semantics: bounds are clamped, negative steps allowed, axes default to the first ones.
struct Slice final : OpBase<Slice> {
  TENON_OP_HEADER(Slice, "slice");
};

enum class PadFill { kConstant, kReflect, kEdge, kWrap };
TENON_ENUM_NAMES(PadFill, "constant", "reflect", "edge", "wrap")

/// Negative pads crop.
struct Pad final : OpBase<Pad> {
  TENON_OP_HEADER(Pad, "pad");
  PadFill fill = PadFill::kConstant;
  TENON_ATTRIBUTES(fill);
};

/// Negative indices count from the end.
struct Gather final : OpBase<Gather> {
  TENON_OP_HEADER(Gather, "gather");
  int64_t axis = 0;
  TENON_ATTRIBUTES(axis);
};

struct GatherElements final : OpBase<GatherElements> {
  TENON_OP_HEADER(GatherElements, "gather_elements");
  int64_t axis = 0;
  TENON_ATTRIBUTES(axis);
};

struct GatherNd final : OpBase<GatherNd> {
  TENON_OP_HEADER(GatherNd, "gather_nd");
  int64_t batch_dims = 0;
  TENON_ATTRIBUTES(batch_dims);
};

enum class ScatterReduction { kNone, kAdd, kMul, kMax, kMin };
TENON_ENUM_NAMES(ScatterReduction, "none", "add", "mul", "max", "min")

struct ScatterElements final : OpBase<ScatterElements> {
  TENON_OP_HEADER(ScatterElements, "scatter_elements");
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  TENON_ATTRIBUTES(axis, reduction);
};

struct ScatterNd final : OpBase<ScatterNd> {
  TENON_OP_HEADER(ScatterNd, "scatter_nd");
  ScatterReduction reduction = ScatterReduction::kNone;
  TENON_ATTRIBUTES(reduction);
};

struct TensorScatter final : OpBase<TensorScatter> {
  TENON_OP_HEADER(TensorScatter, "tensor_scatter");
  int64_t axis = -2;
  bool circular = false;
  TENON_ATTRIBUTES(axis, circular);
};

struct Trilu final : OpBase<Trilu> {
  TENON_OP_HEADER(Trilu, "trilu");
  bool upper = true;
  TENON_ATTRIBUTES(upper);
};

/// Depth-column-row order unless column_row_depth (ONNX mode CRD).
struct DepthToSpace final : OpBase<DepthToSpace> {
  TENON_OP_HEADER(DepthToSpace, "depth_to_space");
  int64_t block = 1;
  bool column_row_depth = false;
  TENON_ATTRIBUTES(block, column_row_depth);
};

struct SpaceToDepth final : OpBase<SpaceToDepth> {
  TENON_OP_HEADER(SpaceToDepth, "space_to_depth");
  int64_t block = 1;
  TENON_ATTRIBUTES(block);
};

struct ReverseSequence final : OpBase<ReverseSequence> {
  TENON_OP_HEADER(ReverseSequence, "reverse_sequence");
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
  TENON_ATTRIBUTES(batch_axis, time_axis);
};

struct Col2Im final : OpBase<Col2Im> {
  TENON_OP_HEADER(Col2Im, "col2im");
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  TENON_ATTRIBUTES(strides, dilations, pads_begin, pads_end);
};

struct CenterCropPad final : OpBase<CenterCropPad> {
  TENON_OP_HEADER(CenterCropPad, "center_crop_pad");
  std::vector<int64_t> axes;
  TENON_ATTRIBUTES(axes);
};

/// `flat` picks elements of the flattened input, else slices along `axis`.
struct Compress final : OpBase<Compress> {
  TENON_OP_HEADER(Compress, "compress");
  bool flat = true;
  int64_t axis = 0;
  TENON_ATTRIBUTES(flat, axis);
};

/// [rank, n] i64; n is data-dependent.
struct NonZero final : OpBase<NonZero> {
  TENON_OP_HEADER(NonZero, "nonzero");
};

struct Unique final : OpBase<Unique> {
  TENON_OP_HEADER(Unique, "unique");
  bool flat = true;
  int64_t axis = 0;
  bool sorted = true;
  TENON_ATTRIBUTES(flat, axis, sorted);
};

}  // namespace tenon
