#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ops/math.h"

namespace tenon::importer {

class NodeImporter;

/// A row of onnx.def: which function imports an ONNX operator in a range of opsets, and the
/// arguments of that function.
struct OpRow {
  std::string_view domain, name;
  int64_t first, last;  ///< Opsets, inclusive.
  void (*import)(NodeImporter& node, const OpRow& row);
  PointwiseFunction function = PointwiseFunction::k_add;
  std::string_view alpha_name = {};
  double alpha = 0;
  std::string_view beta_name = {};
  double beta = 0;
  ReduceFunction reduction = ReduceFunction::kSum;
  bool takes_lists = false;         ///< Operands may be sequences and optionals.
  std::optional<OpKind> same = {};  ///< The IR's operator that it is, attribute by attribute.
};

std::span<const OpRow> op_rows();
/// The row for an operator, or null. Domains of others' extensions of ONNX fall back to the
/// standard operator of that name.
const OpRow* find_row(std::string_view domain, std::string_view name, int64_t opset);
/// A row of that name in whatever opset, or null.
const OpRow* find_any_row(std::string_view domain, std::string_view name);

// The functions that rows name.
#define TENON_ONNX_FUNCTION(name) void name(NodeImporter& node, const OpRow& row)
/// Operands to a scalar function, with its attributes alpha and beta.
TENON_ONNX_FUNCTION(import_pointwise);
/// Two or more operands, folded from the left.
TENON_ONNX_FUNCTION(import_variadic);
TENON_ONNX_FUNCTION(import_reduce);
/// An operator that is one of the IR's.
TENON_ONNX_FUNCTION(import_same);
#define ONNX_UNARY(...)
#define ONNX_ACTIVATION(...)
#define ONNX_VARIADIC(...)
#define ONNX_REDUCE(...)
#define ONNX_SAME(...)
#define ONNX_OP(domain, name, first, last, function) TENON_ONNX_FUNCTION(function);
#define ONNX_LIST_OP(name, first, last, function) TENON_ONNX_FUNCTION(function);
#include "onnx/onnx.def"

}  // namespace tenon::importer
