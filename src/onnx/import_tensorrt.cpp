// Operators of TensorRT's own: by some of them networks are written as ONNX files and read back,
// others are layers that ONNX has no operator for. Attributes are named as TensorRT's parser has
// them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "network/collective_node.h"
#include "network/composites.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/nn.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

/// Weights of one number, of a channel's or of every element, beside x.
Value* scale_weights(NodeImporter& n, Value* weights, int mode) {
  Value* const x = n.input(0);
  const int rank = n.rank(x), axis = std::max(rank - 3, 0);
  if (mode == 0) return n.reshape(weights, {});
  std::vector<int64_t> extents(static_cast<size_t>(rank - axis), 1);
  for (int i = axis; i < rank; ++i)
    if (i == axis || mode == 2) extents[static_cast<size_t>(i - axis)] = n.constant_extent(x, i);
  return n.reshape(weights, std::move(extents));
}

/// A permutation of x's axes; entries behind the last axis say nothing.
Value* permuted(NodeImporter& n, Value* x, std::string_view name) {
  std::vector<int64_t> order = n.integer_list(name);
  const auto rank = static_cast<size_t>(n.rank(x));
  for (size_t i = order.size(); i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  order.resize(rank);
  std::vector<int64_t> sorted = order, same(rank);
  std::ranges::sort(sorted);
  std::iota(same.begin(), same.end(), 0);
  if (sorted != same)
    n.fail(ImportCode::kInvalidNode, fmt::format("{} is no permutation of {} axes", name, rank));
  return order == same || !n.ok() ? x : n.transpose(x, std::move(order));
}

/// Queries, keys and values of this form have a batch axis; packed ones are refused.
void require_padded(NodeImporter& n) {
  for (const char* form : {"query_form", "kv_form"})
    if (n.text(form, "padded_bhnd") != "padded_bhnd")
      n.fail(ImportCode::kUnsupportedNodeAttr,
             fmt::format("{} is '{}': only padded_bhnd is supported", form, n.text(form, "")));
}

network::AttentionParts attention_parts(NodeImporter& n) {
  require_padded(n);
  network::AttentionParts parts{
      .query = n.input(0), .key = n.input(1), .value = n.input(2), .mask = n.input(3)};
  parts.normalizes = n.choice("TRT_normalization_op", "softmax", {"softmax", "none"}) == 0;
  return parts;
}

/// Padded keys of which each batch has so many.
Value* length_mask(NodeImporter& n, const network::AttentionParts& parts, Value* lengths) {
  Value* extent = n.squeeze(n.slice(n.shape_of(parts.key), 0, 2, 3), {0});
  Value* positions = n.add(RangeOf{}, {n.integer(0), extent, n.integer(1)});
  Value* bounds = n.unsqueeze(n.cast(lengths, DataType::kInt64), {1, 2, 3});
  return n.pointwise(F::k_less, {positions, bounds});
}

void add_lengths(NodeImporter& n, network::AttentionParts& parts, int index) {
  if (!n.has_input(index)) return;
  Value* inside = length_mask(n, parts, n.input(index));
  if (parts.mask == nullptr)
    parts.mask = inside;
  else if (n.type(parts.mask) == DataType::kBool)
    parts.mask = n.pointwise(F::k_and, {parts.mask, inside});
  else
    parts.mask = n.where(inside, parts.mask, n.number(-65504, n.type(parts.mask)));
}

int64_t required_axis(NodeImporter& n, int64_t otherwise) {
  return n.normalized(n.integer_attribute("axis", otherwise), n.rank(n.input(0)));
}

template <class Shape>
void output_dynamic(NodeImporter& n, const Shape& blocks, DataType to, DataType scale_type) {
  const network::DynamicScales made =
      network::dynamic_quantize(n, n.input(0), n.input(1), blocks, to, scale_type);
  n.output(0, made.quantized);
  n.output(1, made.scale);
}

void require_block(NodeImporter& n, int64_t only) {
  if (n.integer_attribute("block_size", only) != only)
    n.fail(ImportCode::kUnsupportedNodeAttr, fmt::format("block_size must be {}", only));
}

/// Axis and block for a scale with as many axes as the input.
template <class Op> Op blocked(NodeImporter& n, Op op) {
  if (!n.has_input(1)) {
    n.fail(ImportCode::kInvalidNode, "it has no scale");
    return op;
  }
  const network::Blocks blocks = network::blocks_of(n, n.input(0), n.input(1));
  op.axis = std::max<int64_t>(blocks.axis, 0);
  op.block_size = std::max<int64_t>(blocks.size, 1);
  return op;
}

/// Scales of 8 bits are numbers like others to the operators.
Value* wide_scale(NodeImporter& n) {
  const DataType type = n.type(n.input(1));
  const bool narrow = type == DataType::kFloat8E4M3 || type == DataType::kFloat8E8M0;
  return narrow ? n.cast(n.input(1), DataType::kFloat32) : n.input(1);
}

}  // namespace

void import_trt_scale(NodeImporter& n, const OpRow&) {
  const int mode = n.choice("mode", "uniform", {"uniform", "channel", "elementwise"});
  Value* y = n.input(0);
  int next = 1;
  const auto weights = [&](std::string_view name) -> Value* {
    if (!n.flag(name)) return nullptr;
    if (!n.has_input(next))
      n.fail(ImportCode::kInvalidNode, fmt::format("the weights of '{}' are missing", name));
    return scale_weights(n, n.input(next++), mode);
  };
  if (Value* scale = weights("scale")) y = n.mul(y, scale);
  if (Value* shift = weights("shift")) y = n.add(y, shift);
  if (Value* power = weights("power")) y = n.pointwise(F::k_pow, {y, power});
  n.output(y == n.input(0) ? n.add(Identity{}, {y}) : y);
}

void import_trt_shuffle(NodeImporter& n, const OpRow&) {
  Value* y = permuted(n, n.input(0), "first_perm");
  Reshape op;
  op.allow_zero = !n.flag("zero_is_placeholder", true);
  if (n.has_input(1))
    y = n.add(op, {y, n.cast(n.input(1), DataType::kInt64)});
  else if (n.has("reshape_dims"))
    y = n.add(op, {y, n.integers(n.integer_list("reshape_dims"))});
  y = permuted(n, y, "second_perm");
  n.output(y == n.input(0) ? n.add(Identity{}, {y}) : y);
}

void import_trt_topk_min(NodeImporter& n, const OpRow&) {
  TopK op;
  op.axis = required_axis(n, -1);
  op.largest = false;
  Value* k = n.reshape(n.cast(n.input(1), DataType::kInt64), {1});
  const std::vector<Value*> results = n.add_multiple(op, {n.input(0), k}, 2);
  n.output(0, results[0]);
  n.output(1, n.cast(results[1], DataType::kInt32));
}

void import_trt_matmul(NodeImporter& n, const OpRow& row) {
  if (!n.has("op_0") && !n.has("op_1")) return import_fused_matmul(n, row);
  int kinds[2];
  Value* operands[2];
  for (int i = 0; i < 2; ++i) {
    kinds[i] = n.choice(i == 0 ? "op_0" : "op_1", "none", {"none", "transpose", "vector"});
    operands[i] = n.input(i);
    const int rank = n.rank(operands[i]);
    if (kinds[i] == 2) operands[i] = n.unsqueeze(operands[i], {i == 0 ? rank - 1 : rank});
  }
  // A vector is a row on the left and a column on the right.
  Value* y = n.matmul(operands[0], operands[1], kinds[0] == 1, kinds[1] == 1);
  std::vector<int64_t> dropped;
  if (kinds[0] == 2) dropped.push_back(n.rank(y) - 2);
  if (kinds[1] == 2) dropped.push_back(n.rank(y) - 1);
  n.output(dropped.empty() ? y : n.squeeze(y, dropped));
}

void import_trt_ragged_softmax(NodeImporter& n, const OpRow&) {
  n.output(network::ragged_softmax(n, n.input(0), n.input(1)));
}

void import_trt_gather(NodeImporter& n, const OpRow&) {
  n.expect("nbElementWiseDims", 0);
  Gather op;
  op.axis = required_axis(n, 0);
  n.output(n.add(op, {n.input(0), n.input(1)}));
}

void import_trt_slice(NodeImporter& n, const OpRow&) {
  const auto part = [&](int index, std::string_view name) {
    return n.has_input(index) ? n.cast(n.input(index), DataType::kInt64)
                              : n.integers(n.integer_list(name));
  };
  Value *start = part(1, "start"), *size = part(2, "size"), *stride = part(3, "stride");
  Value* end = n.add(start, n.mul(size, stride));
  // A run towards the start that takes the first element ends ahead of it, which -1 does not say.
  const double none = -static_cast<double>(int64_t{1} << 40);
  Value* zero = n.number(0, DataType::kInt64);
  end = n.where(n.pointwise(F::k_less, {end, zero}), n.number(none, DataType::kInt64), end);
  std::vector<int64_t> axes(static_cast<size_t>(n.rank(n.input(0))));
  std::iota(axes.begin(), axes.end(), 0);
  n.output(n.add(Slice{}, {n.input(0), start, end, n.integers(std::move(axes)), stride}));
}

void import_trt_resize(NodeImporter& n, const OpRow&) {
  Resize op;
  op.mode = n.choice("mode", "nearest", {"nearest", "linear", "bilinear"}) == 0
                ? ResizeMode::kNearest
                : ResizeMode::kLinear;
  const bool upper = n.choice("resizeSelector", "formula", {"formula", "upper"}) == 1;
  const CoordinateMode modes[] = {
      CoordinateMode::kAsymmetric, CoordinateMode::kAlignCorners,
      upper ? CoordinateMode::kPytorchHalfPixel : CoordinateMode::kHalfPixel};
  op.coordinates = modes[n.choice("coordTransform", "asymmetric",
                                  {"asymmetric", "align_corners", "half_pixel"})];
  constexpr NearestMode kRounding[] = {NearestMode::kFloor, NearestMode::kCeil,
                                       NearestMode::kRoundPreferCeil,
                                       NearestMode::kRoundPreferFloor};
  op.nearest =
      kRounding[n.choice("round_mode", "floor", {"floor", "ceil", "half_up", "half_down"})];
  if (n.has_input(1))
    return n.output(
        n.add(op, {n.input(0), nullptr, nullptr, n.cast(n.input(1), DataType::kInt64)}));
  if (const std::vector<int64_t> sizes = n.integer_list("output_dims"); !sizes.empty())
    return n.output(n.add(op, {n.input(0), nullptr, nullptr, n.integers(sizes)}));
  const std::vector<double> given = n.real_list("scales");
  const std::vector<float> scales(given.begin(), given.end());
  if (static_cast<int>(scales.size()) != n.rank(n.input(0)))
    return n.fail(ImportCode::kInvalidNode,
                  "output_dims, scales for each axis or sizes as the "
                  "second input are needed");
  n.output(
      n.add(op, {n.input(0), nullptr,
                 n.constant(Tensor::of<float>(DataType::kFloat32, {n.rank(n.input(0))}, scales))}));
}

void import_trt_floor_div(NodeImporter& n, const OpRow&) {
  n.output(n.pointwise(F::k_floor_div, {n.input(0), n.input(1)}));
}

void import_trt_attention(NodeImporter& n, const OpRow&) {
  network::AttentionParts parts = attention_parts(n);
  constexpr CausalMask kKinds[] = {CausalMask::kNone, CausalMask::kUpperLeft,
                                   CausalMask::kLowerRight};
  parts.causal = kKinds[n.choice("causal_kind", "none", {"none", "upper_left", "lower_right"})];
  n.expect("nb_rank", 1);
  if (parts.mask != nullptr && parts.causal != CausalMask::kNone)
    return n.fail(ImportCode::kInvalidNode, "a mask and a causal_kind exclude each other");
  add_lengths(n, parts, 5);
  n.output(network::attention(n, parts));
}

void import_trt_quantized_attention(NodeImporter& n, const OpRow&) {
  network::AttentionParts parts = attention_parts(n);
  parts.causal = n.flag("is_causal") ? CausalMask::kUpperLeft : CausalMask::kNone;
  parts.scale = n.input(4);
  parts.quantized = n.type_attribute("normalization_quantize_to_type", DataType::kFloat8E4M3);
  const double scale = n.real_attribute("scale", 0);
  const int64_t size = n.rank(parts.query) == 4 ? n.constant_extent(parts.query, 3) : 1;
  // As ONNX's Attention: by the size of a head unless told otherwise.
  if (n.ok())
    parts.query = n.mul(parts.query, scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size)));
  add_lengths(n, parts, 6);
  n.output(network::attention(n, parts));
}

void import_trt_moe(NodeImporter& n, const OpRow&) {
  if (n.integer_attribute("quantization_mode", 0) != 0 || n.has_input(9))
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "quantized experts: quantize the weights and tokens outside of the node");
  network::ExpertParts parts{.tokens = n.input(0), .chosen = n.input(1), .scores = n.input(2)};
  for (int i = 0; i < 3; ++i) {
    parts.weights[static_cast<size_t>(i)] = n.input(3 + i);
    parts.biases[static_cast<size_t>(i)] = n.input(6 + i);
  }
  parts.gates = n.integer_attribute("activation_type", 0) == 1;
  parts.limit =
      static_cast<float>(n.real_attribute("swiglu_limit", std::numeric_limits<float>::infinity()));
  parts.alpha = static_cast<float>(n.real_attribute("swiglu_alpha", 1));
  parts.beta = static_cast<float>(n.real_attribute("swiglu_beta", 0));
  n.output(network::experts(n, parts));
}

/// The ranks of a group are given, or those from 0 on.
void import_dist_collective(NodeImporter& n, const OpRow&) {
  plugin::Collective operation;
  operation.kind = static_cast<plugin::CollectiveKind>(
      n.choice("collective_operation", "all_reduce",
               {"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter"}));
  operation.reduction = n.choice("reduce_op", "sum", {"sum", "prod", "max", "min", "avg", "none"});
  operation.root = n.integer_attribute("root", 0);
  operation.ranks = n.integer_attribute("nb_rank", 1);
  operation.group = n.integer_list("groups");
  const int64_t size = n.integer_attribute("group_size", 0);
  if (size < 0 || size > INT32_MAX ||
      (!operation.group.empty() && size > 0 &&
       size != static_cast<int64_t>(operation.group.size())))
    return n.fail(ImportCode::kInvalidNode,
                  fmt::format("group_size is {} for {} ranks", size, operation.group.size()));
  if (operation.group.empty() && size != operation.ranks) {
    operation.group.resize(static_cast<size_t>(size));
    std::iota(operation.group.begin(), operation.group.end(), 0);
  }
  if (const auto status = operation.check(); !status.ok())
    return n.fail(ImportCode::kInvalidNode, status.error().message);
  if (!n.has_input(0)) return n.fail(ImportCode::kInvalidNode, "it has no operand");
  n.output(network::collective(n, n.input(0), std::move(operation)));
}

void import_trt_fp4_dynamic_quantize(NodeImporter& n, const OpRow&) {
  require_block(n, 16);
  output_dynamic(n, network::Blocks{required_axis(n, 1), 16}, DataType::kFloat4E2M1,
                 n.type_attribute("scale_type", DataType::kFloat8E4M3));
}

void import_trt_mxfp8_dynamic_quantize(NodeImporter& n, const OpRow&) {
  require_block(n, 32);
  output_dynamic(n, network::Blocks{required_axis(n, -1), 32}, DataType::kFloat8E4M3,
                 DataType::kFloat8E8M0);
}

void import_trt_dynamic_quantize(NodeImporter& n, const OpRow&) {
  const std::vector<int64_t> shape = n.integer_list("block_shape");
  output_dynamic(n, std::span<const int64_t>(shape),
                 n.type_attribute("output_type", DataType::kFloat8E4M3),
                 n.type_attribute("scale_type", DataType::kFloat32));
}

void import_trt_block_quantize(NodeImporter& n, const OpRow&) {
  Quantize op;
  op.to = n.output_type(DataType::kFloat8E4M3);
  n.output(n.add(blocked(n, op), {n.input(0), wide_scale(n), nullptr}));
}

void import_trt_block_dequantize(NodeImporter& n, const OpRow&) {
  Dequantize op;
  Value* scale = wide_scale(n);
  op.to = n.output_type(n.type(scale));
  n.output(n.add(blocked(n, op), {n.input(0), scale, nullptr}));
}

}  // namespace tenon::importer
