// Quantized operators of the domain com.microsoft, as ONNX Runtime's tools write them: operands are
// dequantized, the operator computes with reals, and the result is quantized again. Where there are
// kernels for it passes make integers of the whole.
#include <array>
#include <span>

#include "base/arithmetic.h"
#include "onnx/import_positions.h"
#include "onnx/import_quantize.h"
#include "onnx/import_window.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

/// Operands `first`, `first + 1` and `first + 2`: numbers, scale, zero point.
Value* real(NodeImporter& n, int first, int64_t axis = 1) {
  return dequantized(n, n.input(first), n.input(first + 1), n.input(first + 2), axis);
}

/// By scale and zero point of operands `first` and `first + 1`, into the type that the latter has.
void output_quantized(NodeImporter& n, Value* value, int first) {
  Quantize op;
  op.to = n.has_input(first + 1) ? n.type(n.input(first + 1)) : DataType::kUInt8;
  n.output(n.add(op, {value, n.input(first), n.input(first + 1)}));
}

/// A scale or zero point of each column, or of the whole.
Value* columns(NodeImporter& n, Value* bytes, Value* scale, Value* zero) {
  return dequantized(n, bytes, scale, zero, n.rank(bytes) - 1);
}

}  // namespace

Result<Tensor> unpacked_numbers(const Tensor& packed, int64_t rows, int64_t depth, int64_t bits,
                                DataType type) {
  const int64_t per_byte = 8 / bits, row = rows == 0 ? 0 : packed.count() / rows;
  if (row * per_byte < depth)
    return user_error("there are fewer than {} x {} numbers", rows, depth);
  TENON_ASSIGN(Tensor numbers, Tensor::create(type, {rows, depth}));
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed.bytes());
  auto* to = reinterpret_cast<uint8_t*>(numbers.mutable_bytes());
  const unsigned mask = (1U << static_cast<unsigned>(bits)) - 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; ++k)
      to[i * depth + k] = static_cast<uint8_t>(
          (bytes[i * row + k / per_byte] >> static_cast<unsigned>(k % per_byte * bits)) & mask);
  return numbers;
}

Result<Tensor> packed_zero_points(const Tensor* packed, int64_t rows, int64_t blocks,
                                  int64_t bits) {
  TENON_ASSIGN(Tensor zeros,
               Tensor::create(bits <= 4 ? DataType::kUInt4 : DataType::kUInt8, {rows, blocks}));
  const int64_t per_byte = 8 / bits, row = ceil_div(blocks, per_byte);
  if (packed != nullptr && (packed->type() != DataType::kUInt8 || packed->count() != rows * row))
    return unsupported("zero points that are not {} numbers of uint8, packed as B is", rows * row);
  auto* to = reinterpret_cast<uint8_t*>(zeros.mutable_bytes());
  for (int64_t i = 0; i < rows * blocks; ++i) {
    to[i] = static_cast<uint8_t>(1U << static_cast<unsigned>(bits - 1));
    if (packed == nullptr) continue;
    const auto byte =
        std::to_integer<unsigned>(packed->bytes()[i / blocks * row + i % blocks / per_byte]);
    to[i] = static_cast<uint8_t>(byte >> static_cast<unsigned>(i % blocks % per_byte * bits) &
                                 ((1U << static_cast<unsigned>(bits)) - 1));
  }
  return zeros;
}

void import_qlinear_pointwise(NodeImporter& n, const OpRow&) {
  Value *a = real(n, 0), *b = real(n, 3);
  output_quantized(n, n.op_type() == "QLinearAdd" ? n.add(a, b) : n.mul(a, b), 6);
}

void import_qlinear_activation(NodeImporter& n, const OpRow&) {
  const bool leaky = n.op_type() == "QLinearLeakyRelu";
  const double alpha = leaky ? n.real_attribute("alpha", 0.01F) : 0;
  const auto function = leaky ? PointwiseFunction::k_leaky_relu : PointwiseFunction::k_sigmoid;
  output_quantized(n, n.pointwise(function, {real(n, 0)}, alpha), 3);
}

/// Before opset 13 the softmax was one over all axes from the given one on.
void import_qlinear_softmax(NodeImporter& n, const OpRow&) {
  const int rank = n.rank(n.input(0));
  const int64_t axis = n.normalized(n.integer_attribute("axis", -1), rank);
  Softmax op;
  op.axes =
      n.integer_attribute("opset", 13) < 13 ? axes_between(axis, rank) : std::vector<int64_t>{axis};
  output_quantized(n, n.add(op, {real(n, 0)}), 3);
}

void import_qlinear_where(NodeImporter& n, const OpRow&) {
  output_quantized(n, n.where(n.input(0), real(n, 1), real(n, 4)), 7);
}

namespace {

/// Averages of an image with channels first.
Value* averages(NodeImporter& n, Value* x) {
  if (n.op_type() == "QLinearGlobalAveragePool")
    return n.reduce(ReduceFunction::kMean, x, axes_between(2, n.rank(x)), true);
  Pool op;
  op.function = PoolFunction::kAverage;
  op.kernel = n.integer_list("kernel_shape");
  op.strides = n.integer_list("strides");
  split_pads(n, op.pads_begin, op.pads_end);
  op.pad_mode = pad_mode(n);
  op.ceil_mode = n.flag("ceil_mode");
  op.count_include_pad = n.flag("count_include_pad");
  return n.add(std::move(op), {x});
}

}  // namespace

void import_qlinear_pool(NodeImporter& n, const OpRow&) {
  const bool last = n.flag("channels_last");
  Value* x = real(n, 0);
  Value* y = averages(n, last ? channels_moved(n, x, true) : x);
  output_quantized(n, last ? channels_moved(n, y, false) : y, 3);
}

void import_qlinear_concat(NodeImporter& n, const OpRow&) {
  std::vector<Value*> parts;
  for (int i = 2; i + 2 < n.input_count(); i += 3) parts.push_back(real(n, i));
  output_quantized(n, n.concat(std::move(parts), n.integer_attribute("axis", 1)), 0);
}

/// Bias of 32 bits has the scale of the products, and alpha scales it with them.
void import_qgemm(NodeImporter& n, const OpRow&) {
  const bool transposed = n.flag("transB");
  Value* product =
      n.matmul(real(n, 0), real(n, 3, transposed ? 0 : 1), n.flag("transA"), transposed);
  const double alpha = n.real_attribute("alpha", 1);
  const auto scaled = [&](Value* value) { return alpha != 1 ? n.mul(value, alpha) : value; };
  product = scaled(product);
  if (n.has_input(6))
    product =
        n.add(product,
              scaled(n.mul(n.cast(n.input(6), DataType::kFloat32), n.mul(n.input(1), n.input(4)))));
  if (!n.has_input(7)) return n.output(product);
  output_quantized(n, product, 7);
}

void import_matmul_integer_to_float(NodeImporter& n, const OpRow&) {
  Value* product = n.matmul(n.add(Dequantize{}, {n.input(0), n.input(2), n.input(4)}),
                            columns(n, n.input(1), n.input(3), n.input(5)));
  n.output(n.has_input(6) ? n.add(product, n.input(6)) : product);
}

void import_dynamic_quantize_matmul(NodeImporter& n, const OpRow&) {
  const std::vector<Value*> a = n.add_multiple(DynamicQuantize{}, {n.input(0)}, 3);
  Value* product = n.matmul(n.add(Dequantize{}, {a[0], a[1], a[2]}),
                            columns(n, n.input(1), n.input(2), n.input(3)));
  n.output(n.has_input(4) ? n.add(product, n.input(4)) : product);
}

namespace {

/// The operands of MatMulNBits as they are dequantized: weights [N, K], and scales and zero points
/// [N, blocks].
struct BlockWeights {
  int64_t depth, block;
  Value* numbers = nullptr;
  Value* scales = nullptr;
  Value* zeros = nullptr;       ///< Of the weights' type.
  Value* real_zeros = nullptr;  ///< In place of those.
};

/// Columns of `values` [rows, columns] in the order of `groups`.
Value* in_groups(NodeImporter& n, Value* values, Value* groups) {
  Gather gather;
  gather.axis = 1;
  return values == nullptr ? nullptr : n.add(gather, {values, groups});
}

/// Each position along the depth has the block that `groups` names, so blocks of one element.
void regroup(NodeImporter& n, BlockWeights& weights, Value* groups) {
  groups = n.slice(groups, 0, 0, weights.depth);  // Those of padding may follow.
  weights.scales = in_groups(n, weights.scales, groups);
  weights.zeros = in_groups(n, weights.zeros, groups);
  weights.real_zeros = in_groups(n, weights.real_zeros, groups);
  weights.block = 1;
}

/// (q - zero) * scale. Zero points that are no integers are taken off behind the scale.
Value* of_blocks(NodeImporter& n, const BlockWeights& weights) {
  Dequantize op;
  op.axis = 1;
  op.block_size = weights.block;
  op.to = n.type(n.input(0));
  Value* b = n.add(op, {weights.numbers, weights.scales, weights.zeros});
  if (weights.real_zeros == nullptr) return b;
  Value* ones = n.filled_like(weights.numbers, 1, n.type(weights.numbers));
  return n.sub(b, n.add(op, {ones, n.mul(weights.scales, weights.real_zeros), nullptr}));
}

}  // namespace

/// Weights of 2, 4 or 8 bits with a scale for each block along the depth.
void import_matmul_nbits(NodeImporter& n, const OpRow&) {
  n.expect("weight_prepacked", 0);
  const int64_t depth = n.integer_attribute("K", 0), rows = n.integer_attribute("N", 0);
  const int64_t bits = n.integer_attribute("bits", 4),
                block = n.integer_attribute("block_size", 32);
  if (depth < 1 || rows < 1 || block < 1 || (bits != 2 && bits != 4 && bits != 8))
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "K, N and block_size must be at least 1, and bits 2, 4 or 8");
  const bool real_zeros = n.has_input(3) && is_real(n.type(n.input(3)));
  const Tensor *bytes = n.contents(1), *zeros = n.contents(3);
  if (bytes == nullptr || (n.has_input(3) && !real_zeros && zeros == nullptr))
    return n.fail(ImportCode::kUnsupportedNodeDynamic,
                  "B and its zero points must be initializers");
  const int64_t blocks = ceil_div(depth, block);
  if (bytes->rank() != 3 || bytes->extents()[0] != rows || bytes->type() != DataType::kUInt8)
    return n.fail(ImportCode::kUnsupportedNodeInput, "B must be uint8 [N, blocks, bytes]");
  auto numbers = unpacked_numbers(*bytes, rows, depth, bits,  // Those of 2 bits have the type of 4.
                                  bits <= 4 ? DataType::kUInt4 : DataType::kUInt8);
  auto shifts = packed_zero_points(real_zeros ? nullptr : zeros, rows, blocks, bits);
  if (!numbers.ok()) return n.fail(ImportCode::kUnsupportedNodeInput, numbers.error().message);
  if (!shifts.ok()) return n.fail(ImportCode::kUnsupportedNodeInput, shifts.error().message);
  BlockWeights weights{.depth = depth, .block = block};
  weights.numbers = n.constant(std::move(numbers).value());
  weights.scales = n.reshape(n.input(2), {rows, blocks});
  if (real_zeros)
    weights.real_zeros = n.reshape(n.input(3), {rows, blocks});
  else
    weights.zeros = n.constant(std::move(shifts).value());
  if (n.has_input(4)) regroup(n, weights, n.input(4));
  Value* product = n.matmul(n.input(0), of_blocks(n, weights), false, true);
  n.output(n.has_input(5) ? n.add(product, n.input(5)) : product);
}

namespace {

/// Numbers of the 16 codes of bitsandbytes: floats of 4 bits whose largest is 1, and quantiles
/// of a normal distribution.
constexpr std::array<float, 16> kFloat4{
    0,     1 / 192.0F,  2 / 3.0F,  1,  1 / 3.0F,  0.5F,  1 / 6.0F,  0.25F,
    -0.0F, -1 / 192.0F, -2 / 3.0F, -1, -1 / 3.0F, -0.5F, -1 / 6.0F, -0.25F};
constexpr std::array<float, 16> kNormal4{-1,           -0.69619280F, -0.52507305F, -0.39491749F,
                                         -0.28444138F, -0.18477343F, -0.09105004F, 0,
                                         0.07958030F,  0.16093020F,  0.24611230F,  0.33791524F,
                                         0.44070983F,  0.56261700F,  0.72295684F,  1};

/// Codes in halves of bytes, the higher half first, as [blocks, block].
Result<Tensor> by_codes(const Tensor& bytes, std::span<const float, 16> codes, int64_t blocks,
                        int64_t block, int64_t count) {
  if (bytes.type() != DataType::kUInt8 || bytes.count() < ceil_div(count, 2))
    return user_error("B must be uint8 and have {} numbers, two a byte", count);
  TENON_ASSIGN(Tensor numbers, Tensor::create(DataType::kFloat32, {blocks, block}));
  const std::span<float> to = numbers.mutable_values<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    const bool padding = i >= static_cast<size_t>(count);
    const unsigned byte = padding ? 0 : std::to_integer<unsigned>(bytes.bytes()[i / 2]);
    to[i] = codes[i % 2 == 0 ? byte >> 4U : byte & 15U];
  }
  return numbers;
}

}  // namespace

/// Weights of 4 bits as bitsandbytes has them: blocks go from row to row.
void import_matmul_bnb4(NodeImporter& n, const OpRow&) {
  const int64_t depth = n.integer_attribute("K", 0), rows = n.integer_attribute("N", 0);
  const int64_t block = n.integer_attribute("block_size", 0);
  const int64_t kind = n.integer_attribute("quant_type", 1);
  if (depth < 1 || rows < 1 || block < 1 || (kind != 0 && kind != 1))
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "K, N and block_size must be at least 1, and quant_type 0 or 1");
  const Tensor* bytes = n.contents(1);
  if (bytes == nullptr)
    return n.fail(ImportCode::kUnsupportedNodeDynamic, "B must be an initializer");
  const int64_t count = rows * depth, blocks = ceil_div(count, block);
  auto numbers = by_codes(*bytes, kind == 0 ? kFloat4 : kNormal4, blocks, block, count);
  if (!numbers.ok()) return n.fail(ImportCode::kUnsupportedNodeInput, numbers.error().message);
  Value* largest = n.cast(n.reshape(n.input(2), {blocks, 1}), DataType::kFloat32);
  Value* weights = n.reshape(n.mul(n.constant(std::move(numbers).value()), largest), {-1});
  if (blocks * block != count) weights = n.slice(weights, 0, 0, count);
  weights = n.cast(n.reshape(weights, {rows, depth}), n.type(n.input(0)));
  n.output(n.matmul(n.input(0), weights, false, n.flag("transB", true)));
}

namespace {

/// Slices of a table that has a type of 4 bits, along any axis but that of the blocks.
void gather_nibbles(NodeImporter& n, DataType as) {
  const int rank = n.rank(n.input(0));
  const int64_t axis = n.normalized(n.integer_attribute("gather_axis", 0), rank),
                blocks = n.normalized(n.integer_attribute("quantize_axis", 1), rank);
  if (axis == blocks)
    return n.fail(ImportCode::kUnsupportedNodeAttr, "gather_axis and quantize_axis are the same");
  Gather slices;
  slices.axis = axis;
  const auto picked = [&](Value* from) { return n.add(slices, {from, n.input(1)}); };
  Dequantize op;
  op.block_size = n.integer_attribute("block_size", 128);
  op.axis = blocks < axis ? blocks : blocks - 1 + n.rank(n.input(1));
  op.to = n.type(n.input(2));
  Value* zeros = n.has_input(3) ? picked(n.cast(n.input(3), as)) : nullptr;
  n.output(n.add(op, {picked(n.cast(n.input(0), as)), picked(n.input(2)), zeros}));
}

}  // namespace

/// Rows of a table of 4 or 8 bits with a scale for each block of a row.
void import_gather_block_quantized(NodeImporter& n, const OpRow&) {
  const DataType stored = n.type(n.input(0));
  if (stored == DataType::kInt4 || stored == DataType::kUInt4)
    return gather_nibbles(n, stored == DataType::kInt4 ? DataType::kInt8 : DataType::kUInt8);
  const Tensor *table = n.contents(0), *zeros = n.contents(3);
  const int64_t bits = n.integer_attribute("bits", 4),
                block = n.integer_attribute("block_size", 128);
  if (table == nullptr || (n.has_input(3) && zeros == nullptr))
    return n.fail(ImportCode::kUnsupportedNodeDynamic,
                  "the table and its zero points must be initializers");
  const int64_t last = n.integer_attribute("quantize_axis", 1);
  if (table->type() != DataType::kUInt8 || table->rank() != 2 || (bits != 4 && bits != 8) ||
      n.integer_attribute("gather_axis", 0) != 0 || n.normalized(last, 2) != 1)
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "supported are rows (gather_axis 0) of a table of uint8, 4 or 8 bits a number, "
                  "quantized along them");
  const int64_t rows = table->extents()[0], depth = table->extents()[1] * 8 / bits;
  const int64_t blocks = n.constant_extent(n.input(2), 1);
  if (block < 1 || blocks * block != depth)
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  fmt::format("{} blocks of {} for rows of {}", blocks, block, depth));
  auto numbers = unpacked_numbers(*table, rows, depth, bits, DataType::kUInt8);
  if (!numbers.ok()) return n.fail(ImportCode::kInvalidNode, numbers.error().message);
  const auto picked = [&](Value* from) { return n.add(Gather{}, {from, n.input(1)}); };
  const DataType type = n.type(n.input(2));
  std::vector<int64_t> shape(static_cast<size_t>(n.rank(n.input(1))), 0);
  shape.insert(shape.end(), {blocks, block});
  Value* x = n.reshape(n.cast(picked(n.constant(std::move(numbers).value())), type), shape);
  if (zeros != nullptr) {
    auto shifts = unpacked_numbers(*zeros, rows, blocks, bits, DataType::kUInt8);
    if (!shifts.ok()) return n.fail(ImportCode::kInvalidNode, shifts.error().message);
    Value* shift = n.cast(picked(n.constant(std::move(shifts).value())), type);
    x = n.sub(x, n.unsqueeze(shift, {-1}));
  } else {
    x = n.add(x, -static_cast<double>(1 << (bits - 1)));
  }
  shape.resize(shape.size() - 2);
  shape.push_back(depth);
  n.output(n.reshape(n.mul(x, n.unsqueeze(picked(n.input(2)), {-1})), shape));
}

}  // namespace tenon::importer
