// Quantization and arithmetic on quantized operands.
#include "onnx/import_quantize.h"

#include "onnx/import_window.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

Value* minus_zero_point(NodeImporter& n, Value* x, Value* zero_point, DataType type,
                        std::vector<int64_t> shape = {}) {
  x = n.cast(x, type);
  if (!zero_point) return x;
  zero_point = n.cast(zero_point, type);
  if (n.rank(zero_point) == 1 && !shape.empty())
    zero_point = n.reshape(zero_point, std::move(shape));
  return n.sub(x, zero_point);
}

std::vector<int64_t> first_axis(const NodeImporter& n, const Value* like) {
  std::vector<int64_t> shape(static_cast<size_t>(std::max(n.rank(like), 1)), 1);
  shape[0] = -1;
  return shape;
}

/// A number for each channel beside an image.
std::vector<int64_t> channels_of(const NodeImporter& n, const Value* image) {
  std::vector<int64_t> shape(static_cast<size_t>(std::max(n.rank(image) - 1, 1)), 1);
  shape[0] = -1;
  return shape;
}

/// Convolution of integers, exact in f64: products of bytes sum without rounding.
Value* integer_conv(NodeImporter& n, Value* x, Value* x_zero, Value* w, Value* w_zero) {
  Value* centred_x = minus_zero_point(n, x, x_zero, DataType::kFloat64);
  Value* centred_w = minus_zero_point(n, w, w_zero, DataType::kFloat64, first_axis(n, w));
  return n.add(convolution(n), {centred_x, centred_w});
}

/// A scalar, or a vector of one element, as one number for each element of `like`.
Value* spread(NodeImporter& n, Value* value, Value* like) {
  if (n.rank(like) == 0 || n.shape(value) == n.shape(like)) return value;
  if (n.rank(value) != 0 && n.shape(value) != Shape{Dim(1)}) return value;
  return n.add(Expand{}, {n.reshape(value, {}), n.shape_of(like)});
}

DataType quantized_type(NodeImporter& n) {
  if (n.has_input(2)) return n.type(n.input(2));
  return n.output_type(DataType::kUInt8);
}

/// Before opset 13 scales were scalars, and TensorRT takes a vector as one along axis 0.
int64_t quantized_axis(NodeImporter& n) {
  return n.integer_attribute("axis", n.opset() < 13 ? 0 : 1);
}

Value* quantized(NodeImporter& n, Value* x, Value* scale, Value* zero_point, DataType to) {
  Quantize op;
  op.axis = quantized_axis(n);
  op.block_size = n.integer_attribute("block_size", 0);
  op.saturate = n.flag("saturate", true);
  op.to = to;
  return n.add(op, {x, scale, zero_point});
}

DataType trt_type(const NodeImporter& n) {
  return n.op_type().find("INT4") != std::string::npos ? DataType::kInt4 : DataType::kFloat8E4M3;
}

int64_t trt_block(NodeImporter& n) {
  const int64_t otherwise = n.op_type().starts_with("TRT_MXFP8") ? 32 : 0;
  return n.integer_attribute("block_size", otherwise);
}

}  // namespace

Value* dequantized(NodeImporter& n, Value* bytes, Value* scale, Value* zero_point, int64_t axis) {
  Dequantize op;
  op.axis = axis;
  if (zero_point != nullptr) {
    scale = spread(n, scale, zero_point);
    zero_point = spread(n, zero_point, scale);
  }
  return n.add(op, {bytes, scale, zero_point});
}

void import_quantize(NodeImporter& n, const OpRow&) {
  n.output(quantized(n, n.input(0), n.input(1), n.input(2), quantized_type(n)));
}

void import_dequantize(NodeImporter& n, const OpRow&) {
  Dequantize op;
  op.axis = quantized_axis(n);
  op.block_size = n.integer_attribute("block_size", 0);
  op.to = n.output_type(n.type(n.input(1)));
  // A scale of powers of two alone (e8m0) is no type to compute in.
  if (op.to == DataType::kFloat8E8M0) op.to = DataType::kFloat32;
  n.output(n.add(op, n.inputs()));
}

void import_trt_quantize(NodeImporter& n, const OpRow&) {
  Quantize op;
  op.axis = n.integer_attribute("axis", n.op_type().starts_with("TRT_MXFP8") ? -1 : 1);
  op.block_size = trt_block(n);
  op.to = trt_type(n);
  n.output(n.add(op, {n.input(0), n.input(1), n.input(2)}));
}

void import_trt_dequantize(NodeImporter& n, const OpRow&) {
  // The operator's name says how bytes are meant: integers would be other numbers.
  if (n.type(n.input(0)) != trt_type(n))
    return n.fail(ImportCode::kUnsupportedNodeDatatype,
                  fmt::format("it reads {}, not {}; give the initializer that type",
                              name_of(trt_type(n)), name_of(n.type(n.input(0)))));
  Dequantize op;
  op.axis = n.integer_attribute("axis", n.op_type().starts_with("TRT_MXFP8") ? -1 : 1);
  op.block_size = trt_block(n);
  const DataType scale = n.type(n.input(1));
  op.to = n.output_type(scale == DataType::kFloat8E8M0 ? DataType::kFloat32 : scale);
  n.output(n.add(op, {n.input(0), n.input(1), n.input(2)}));
}

void import_conv_integer(NodeImporter& n, const OpRow&) {
  n.output(
      n.cast(integer_conv(n, n.input(0), n.input(2), n.input(1), n.input(3)), DataType::kInt32));
}

namespace {

/// With constant weights: as nodes around a convolution of reals, of which passes make one in
/// integers.
Value* qlinear_conv_of_constants(NodeImporter& n, Value* bytes) {
  Value* x = n.add(Dequantize{}, {bytes, n.input(1), n.input(2)});
  Value* w = dequantized(n, n.input(3), n.input(4), n.input(5), 0);
  Value* y = n.add(convolution(n), {x, w});
  if (n.has_input(8)) {
    Value* scale = n.mul(n.input(1), n.input(4));
    Value* bias = n.mul(n.cast(n.input(8), DataType::kFloat32), scale);
    y = n.add(y, n.reshape(bias, channels_of(n, bytes)));
  }
  return quantized(n, y, n.input(6), n.input(7), n.type(n.input(7)));
}

Value* qlinear_conv(NodeImporter& n, Value* x) {
  if (n.contents(3) != nullptr) return qlinear_conv_of_constants(n, x);
  Value* sum = integer_conv(n, x, n.input(2), n.input(3), n.input(5));
  std::vector<int64_t> channels(static_cast<size_t>(std::max(n.rank(sum) - 1, 1)), 1);
  channels[0] = -1;
  if (n.has_input(8)) sum = n.add(sum, n.reshape(n.cast(n.input(8), DataType::kFloat64), channels));
  Value* scale =
      n.mul(n.cast(n.input(1), DataType::kFloat32), n.cast(n.input(4), DataType::kFloat32));
  if (n.rank(scale) == 1) scale = n.reshape(scale, channels);
  Value* real = n.mul(n.cast(sum, DataType::kFloat32), scale);
  return quantized(n, real, n.cast(n.input(6), DataType::kFloat32), n.input(7), n.type(n.input(7)));
}

}  // namespace

/// Operands: x, scale, zero point; w, scale, zero point; scale and zero point of y; bias (i32).
/// ONNX Runtime's operator of that name may have images with channels last.
void import_qlinear_conv(NodeImporter& n, const OpRow&) {
  const bool last = n.flag("channels_last");
  Value* y = qlinear_conv(n, last ? channels_moved(n, n.input(0), true) : n.input(0));
  n.output(last ? channels_moved(n, y, false) : y);
}

namespace {

/// Whether passes know a product of such dequantized operands: of constants, or with one known
/// scale each, as in attention.
bool multiplies_dequantized(const NodeImporter& n) {
  if (n.rank(n.input(1)) != 0) return false;
  if (n.contents(3) != nullptr) return true;
  if (n.rank(n.input(4)) != 0) return false;
  for (const int number : {1, 2, 4, 5})
    if (n.contents(number) == nullptr) return false;
  return true;
}

}  // namespace

/// Operands: a, scale, zero point; b, scale, zero point; scale and zero point of y. Scales are
/// scalars, or one a row of a and one a column of b.
void import_qlinear_matmul(NodeImporter& n, const OpRow&) {
  if (multiplies_dequantized(n)) {
    Value* a = n.add(Dequantize{}, {n.input(0), n.input(1), n.input(2)});
    Value* b =
        dequantized(n, n.input(3), n.input(4), n.input(5), std::max(n.rank(n.input(3)) - 1, 0));
    return n.output(quantized(n, n.matmul(a, b), n.input(6), n.input(7), n.type(n.input(7))));
  }
  const auto column = [&](Value* value) {
    return n.rank(value) == 1 && n.rank(n.input(0)) > 1 ? n.unsqueeze(value, {-1}) : value;
  };
  Value* a = minus_zero_point(n, n.input(0), column(n.input(2)), DataType::kInt32);
  Value* b = minus_zero_point(n, n.input(3), n.input(5), DataType::kInt32);
  Value* product = n.cast(n.matmul(a, b), DataType::kFloat32);
  Value* scale =
      n.mul(column(n.cast(n.input(1), DataType::kFloat32)), n.cast(n.input(4), DataType::kFloat32));
  n.output(quantized(n, n.mul(product, scale), n.cast(n.input(6), DataType::kFloat32), n.input(7),
                     n.type(n.input(7))));
}

}  // namespace tenon::importer
