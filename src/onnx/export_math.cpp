// Scalar functions, products, reductions, quantization.
#include <algorithm>
#include <iterator>

#include "onnx/node_exporter.h"
#include "onnx/op_table.h"
#include "onnx/tensor_writer.h"
#include "ops/math.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

using Function = PointwiseFunction;
using Names = std::vector<std::string>;

/// The row by which ONNX's operator of this function is imported: the first that is nothing but the
/// function. Null where there is none.
const OpRow* row_of(Function function) {
  for (const OpRow& row : op_rows())
    if (row.domain.empty() && row.function == function && row.last == 99 &&
        (row.import == import_pointwise || row.import == import_variadic))
      return &row;
  return nullptr;
}

bool is_8_bit_integer(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8;
}

std::string floor_mod(NodeExporter& n, const Names& x, DataType type) {
  if (!is_real(type)) return n.step("Mod", x);
  const std::string whole = n.step("Floor", {n.step("Div", x)});
  return n.step("Sub", {x[0], n.step("Mul", {whole, x[1]})});
}

std::string shifted(NodeExporter& n, const Names& x, std::string_view direction, DataType type) {
  constexpr DataType kUnsigned[] = {DataType::kUInt8, DataType::kUInt16, DataType::kUInt32,
                                    DataType::kUInt64};
  if (std::ranges::find(kUnsigned, type) == std::end(kUnsigned)) n.writer().model().need_opset(28);
  return n.step_with("BitShift", x).text("direction", direction).output();
}

/// Those that one operator with other attributes computes.
std::string export_by_attributes(NodeExporter& n, Function f, double alpha, double beta,
                                 const Names& x, DataType type) {
  switch (f) {
    case Function::k_gelu_erf: return n.step("Gelu", x);
    case Function::k_gelu_tanh: return n.step_with("Gelu", x).text("approximate", "tanh").output();
    case Function::k_clip:
      return n.step("Clip", {x[0], n.number(alpha, type), n.number(beta, type)});
    case Function::k_is_inf:
      return n.step_with("IsInf", x)
          .integer("detect_negative", alpha != 0)
          .integer("detect_positive", beta != 0)
          .output();
    case Function::k_fmod: return n.step_with("Mod", x).integer("fmod", 1).output();
    case Function::k_shift_left: return shifted(n, x, "LEFT", type);
    case Function::k_shift_right: return shifted(n, x, "RIGHT", type);
    case Function::k_pow: return n.step("Pow", x);
    default: return "";
  }
}

/// Those that several operators compute.
std::string export_by_parts(NodeExporter& n, Function f, double alpha, double beta, const Names& x,
                            DataType type) {
  const auto number = [&](double value) { return n.number(value, type); };
  switch (f) {
    case Function::k_rsqrt: return n.step("Reciprocal", {n.step("Sqrt", x)});
    case Function::k_affine:
      return n.step("Add", {n.step("Mul", {x[0], number(alpha)}), number(beta)});
    case Function::k_swish: {
      const std::string scaled = alpha == 1 ? x[0] : n.step("Mul", {x[0], number(alpha)});
      return n.step("Mul", {x[0], n.step("Sigmoid", {scaled})});
    }
    case Function::k_scaled_tanh:
      return n.step("Mul", {n.step("Tanh", {n.step("Mul", {x[0], number(beta)})}), number(alpha)});
    case Function::k_scaled_softplus:
      return n.step("Mul",
                    {n.step("Softplus", {n.step("Mul", {x[0], number(beta)})}), number(alpha)});
    case Function::k_floor_div: {
      if (is_real(type)) return n.step("Floor", {n.step("Div", x)});
      return n.step("Div", {n.step("Sub", {x[0], n.step("Mod", x)}), x[1]});
    }
    case Function::k_mod: return floor_mod(n, x, type);
    case Function::k_prelu:
      return n.step("Where", {n.step("Less", {x[0], number(0)}), n.step("Mul", x), x[0]});
    default: return "";
  }
}

bool is_by_parts(Function f) {
  return f == Function::k_swish || f == Function::k_scaled_tanh ||
         f == Function::k_scaled_softplus || f == Function::k_prelu;
}

}  // namespace

std::string export_function(NodeExporter& n, PointwiseFunction f, double alpha, double beta,
                            const Names& operands, DataType type) {
  std::string result = export_by_attributes(n, f, alpha, beta, operands, type);
  if (!result.empty()) return result;
  const OpRow* row = is_by_parts(f) ? nullptr : row_of(f);
  if (row == nullptr) {
    result = export_by_parts(n, f, alpha, beta, operands, type);
    if (result.empty()) n.fail("the scalar function has no form in ONNX");
    return result;
  }
  AddedNode added = n.step_with(row->name, operands);
  if (!row->alpha_name.empty()) added.real(row->alpha_name, alpha);
  if (!row->beta_name.empty()) added.real(row->beta_name, beta);
  return added.output();
}

void export_pointwise(NodeExporter& n) {
  const Pointwise& op = *n.node().as<Pointwise>();
  const int compared = n.node().inputs().size() == 3 ? 1 : 0;
  const OpRow* row = is_by_parts(op.function) ? nullptr : row_of(op.function);
  if (row != nullptr && row->alpha_name.empty()) {
    n.plain(row->name);
    return;
  }
  const std::string value =
      export_function(n, op.function, op.alpha, op.beta, n.ins(), n.element(compared));
  if (!value.empty()) n.give(value);
}

void export_gated_unit(NodeExporter& n) {
  const GatedUnit& op = *n.node().as<GatedUnit>();
  const auto each_second = [&](int64_t first) {
    return n.step("Slice", {n.in(0), n.integers({first}), n.integers({INT64_MAX}),
                            n.integers({n.rank(0) - 1}), n.integers({2})});
  };
  const std::string gate =
      export_function(n, op.function, op.alpha, op.beta, {each_second(0)}, n.element(0));
  n.result("Mul", {gate, each_second(1)});
}

void export_cast(NodeExporter& n) {
  const Cast& op = *n.node().as<Cast>();
  AddedNode added = n.plain("Cast").integer("to", onnx_number_of(op.to));
  if (!op.saturate) added.integer("saturate", 0);
  if (op.to != DataType::kFloat8E8M0) return;
  n.writer().model().need_opset(24);
  added.text("round_mode", op.round_mode);
}

void export_bit_cast(NodeExporter& n) {
  n.writer().model().need_opset(26);
  n.plain("BitCast").integer("to", onnx_number_of(n.node().as<BitCast>()->to));
}

namespace {

std::string with_last_axes_swapped(NodeExporter& n, int operand, bool swapped) {
  const int rank = n.rank(operand);
  if (!swapped || rank < 2) return n.in(operand);
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return n.transpose(n.in(operand), order);
}

}  // namespace

void export_matmul(NodeExporter& n) {
  const MatMul& op = *n.node().as<MatMul>();
  const bool transposed = op.transpose_a || op.transpose_b;
  if (transposed && n.rank(0) == 2 && n.rank(1) == 2 && is_real(n.element(0))) {
    n.result("Gemm", {n.in(0), n.in(1)})
        .integer("transA", op.transpose_a)
        .integer("transB", op.transpose_b);
    return;
  }
  const std::string a = with_last_axes_swapped(n, 0, op.transpose_a);
  const std::string b = with_last_axes_swapped(n, 1, op.transpose_b);
  const bool bytes = is_8_bit_integer(n.element(0)) && is_8_bit_integer(n.element(1));
  n.result(bytes ? "MatMulInteger" : "MatMul", {a, b});
}

void export_reduce(NodeExporter& n) {
  const Reduce& op = *n.node().as<Reduce>();
  constexpr std::string_view kNames[] = {
      "ReduceSum", "ReduceProd", "ReduceMax",    "ReduceMin",       "ReduceMean",
      "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
  std::string axes = n.in64(1);
  if (axes.empty() && !op.axes.empty()) axes = n.integers(op.axes);
  n.result(kNames[static_cast<size_t>(op.function)], {n.in(0), axes})
      .integer("keepdims", op.keep_dims)
      .integer("noop_with_empty_axes", op.empty_is_identity);
}

void export_arg_reduce(NodeExporter& n) {
  n.with_attributes(n.plain(n.node().as<ArgReduce>()->largest ? "ArgMax" : "ArgMin"));
}

void export_topk(NodeExporter& n) {
  const TopK& op = *n.node().as<TopK>();
  std::string x = n.in(0);
  if (op.softmax || op.log)
    x = n.step_with(op.log ? "LogSoftmax" : "Softmax", {x}).integer("axis", op.axis).output();
  n.with_attributes(n.result("TopK", {x, n.reshape(n.in64(1), {1})}, n.outs()));
}

void export_cumulative(NodeExporter& n) {
  const Cumulative& op = *n.node().as<Cumulative>();
  if (op.product) n.writer().model().need_opset(26);
  n.with_attributes(n.plain(op.product ? "CumProd" : "CumSum"));
}

/// Values and scale are of one type there.
void export_quantize(NodeExporter& n) {
  const Quantize& op = *n.node().as<Quantize>();
  const std::string scale = n.cast(n.in(1), n.element(1), n.element(0));
  AddedNode added = n.result("QuantizeLinear", {n.in(0), scale, n.in(2)})
                        .integer("axis", op.axis)
                        .integer("saturate", op.saturate);
  if (op.block_size > 0) added.integer("block_size", op.block_size);
  if (!n.has(2)) added.integer("output_dtype", onnx_number_of(op.to));
}

void export_dequantize(NodeExporter& n) {
  const Dequantize& op = *n.node().as<Dequantize>();
  const std::string scale = n.cast(n.in(1), n.element(1), op.to);
  AddedNode added =
      n.result("DequantizeLinear", {n.in(0), scale, n.in(2)}).integer("axis", op.axis);
  if (op.block_size > 0) added.integer("block_size", op.block_size);
}

}  // namespace tenon::importer
