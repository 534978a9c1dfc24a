// Matrix products.
#include <algorithm>
#include <numeric>

#include "onnx/import_fused.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"

namespace tenon::importer {
namespace {

/// Zero point of a matrix operand, shaped to broadcast: one number a row of a, or a column of b.
Value* centred(NodeImporter& n, Value* x, Value* zero_point, bool rows) {
  x = n.cast(x, DataType::kInt32);
  if (!zero_point) return x;
  zero_point = n.cast(zero_point, DataType::kInt32);
  if (rows && n.rank(zero_point) == 1 && n.rank(x) > 1) zero_point = n.unsqueeze(zero_point, {-1});
  return n.sub(x, zero_point);
}

}  // namespace

void import_matmul(NodeImporter& n, const OpRow&) {
  const DataType type = n.type(n.input(0));
  n.output(n.cast(n.matmul(n.input(0), n.input(1)), type));
}

Value* gemm(NodeImporter& n) {
  const DataType type = n.type(n.input(0));
  const double alpha = n.real_attribute("alpha", 1);
  const double beta = n.real_attribute("beta", 1);
  if (n.rank(n.input(0)) != 2 || n.rank(n.input(1)) != 2)
    n.fail(ImportCode::kInvalidNode, "A and B must have rank 2; flatten them first");
  Value* y = n.cast(n.matmul(n.input(0), n.input(1), n.flag("transA"), n.flag("transB")), type);
  if (alpha != 1) y = n.mul(y, alpha);
  if (n.has_input(2) && beta != 0) y = n.add(y, beta == 1 ? n.input(2) : n.mul(n.input(2), beta));
  return y;
}

void import_gemm(NodeImporter& n, const OpRow&) {
  n.output(gemm(n));
}

namespace {

/// The first axis behind those of the batch, where the attribute says that it is ahead of them.
Value* with_batch_first(NodeImporter& n, Value* x, std::string_view attribute) {
  const int rank = n.rank(x);
  if (!n.flag(attribute) || rank < 3) return x;
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  return n.transpose(x, std::move(order));
}

}  // namespace

void import_fused_matmul(NodeImporter& n, const OpRow&) {
  const bool transpose_a = n.flag("transA") || n.flag("transpose_A");
  const bool transpose_b = n.flag("transB") || n.flag("transpose_B");
  const double alpha = n.real_attribute("alpha", 1);
  Value* y = n.matmul(with_batch_first(n, n.input(0), "transBatchA"),
                      with_batch_first(n, n.input(1), "transBatchB"), transpose_a, transpose_b);
  n.output(alpha == 1 ? y : n.mul(y, alpha));
}

void import_matmul_integer(NodeImporter& n, const OpRow&) {
  Value* a = centred(n, n.input(0), n.input(2), true);
  Value* b = centred(n, n.input(1), n.input(3), false);
  n.output(n.matmul(a, b));
}

}  // namespace tenon::importer
