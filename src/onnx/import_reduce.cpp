// Reductions, softmax and other operators along axes.
#include "onnx/import_positions.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

void arg_reduce(NodeImporter& n, bool largest) {
  auto op = n.attributes<ArgReduce>();
  op.largest = largest;
  n.output(n.add(op, {n.input(0)}));
}

/// Before opset 13 the tensor counted as a matrix, split before the axis.
bool as_matrix(const NodeImporter& n) {
  return n.opset() < 13;
}

}  // namespace

/// The axes moved from an attribute to an operand in opset 18 (13 for ReduceSum).
void import_reduce(NodeImporter& n, const OpRow& row) {
  Reduce op;
  op.function = row.reduction;
  op.axes = n.integer_list("axes");
  op.keep_dims = n.flag("keepdims", true);
  op.empty_is_identity = n.flag("noop_with_empty_axes");
  Value* axes = n.input(1);
  if (const std::optional<std::vector<int64_t>> known = n.known_integers(axes); axes && known) {
    op.axes = *known;
    axes = nullptr;
  }
  Value* x = n.input(0);
  const DataType type = n.type(x);
  // bool has an order for max and min, but no arithmetic: it goes through u8.
  if (type == DataType::kBool) x = n.cast(x, DataType::kUInt8);
  n.output(n.cast(n.add(std::move(op), {x, axes}), type));
}

void import_arg_max(NodeImporter& n, const OpRow&) {
  arg_reduce(n, true);
}
void import_arg_min(NodeImporter& n, const OpRow&) {
  arg_reduce(n, false);
}

void import_cumulative(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<Cumulative>();
  op.product = n.op_type() == "CumProd";
  n.output(n.add(op, n.inputs()));
}

void import_global_pool(NodeImporter& n, const OpRow&) {
  const ReduceFunction function =
      n.op_type() == "GlobalMaxPool" ? ReduceFunction::kMax : ReduceFunction::kMean;
  n.output(n.reduce(function, n.input(0), axes_between(2, n.rank(n.input(0))), true));
}

void import_global_lp_pool(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  const std::vector<int64_t> axes = axes_between(2, n.rank(x));
  const int64_t p = n.integer_attribute("p", 2);
  if (p == 1) return n.output(n.reduce(ReduceFunction::kL1, x, axes, true));
  if (p == 2) return n.output(n.reduce(ReduceFunction::kL2, x, axes, true));
  Value* powers = n.pointwise(PointwiseFunction::k_pow,
                              {n.abs(x), n.number(static_cast<double>(p), n.type(x))});
  Value* sum = n.reduce(ReduceFunction::kSum, powers, axes, true);
  n.output(n.pointwise(PointwiseFunction::k_pow,
                       {sum, n.number(1.0 / static_cast<double>(p), n.type(x))}));
}

void import_softmax(NodeImporter& n, const OpRow&) {
  Softmax op;
  op.log = n.op_type() == "LogSoftmax";
  const int rank = n.rank(n.input(0));
  const int64_t given = n.integer_attribute("axis", as_matrix(n) ? 1 : -1);
  // Old files flatten vectors with axis 1 as well: nothing lies after it.
  const int64_t axis = as_matrix(n) && given == rank ? rank : n.normalized(given, rank);
  op.axes = as_matrix(n) ? axes_between(axis, rank) : std::vector<int64_t>{axis};
  n.output(n.add(std::move(op), {n.input(0)}));
}

void import_hardmax(NodeImporter& n, const OpRow&) {
  Hardmax op;
  Value* x = n.input(0);
  op.axis = n.integer_attribute("axis", as_matrix(n) ? 1 : -1);
  if (!as_matrix(n)) return n.output(n.add(op, {x}));
  Flatten flatten;
  flatten.axis = op.axis;
  op.axis = -1;
  n.output(n.reshape_as(n.add(op, {n.add(flatten, {x})}), x));
}

/// Where the norm is zero, so is the result.
void import_lp_normalization(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  const int64_t p = n.integer_attribute("p", 2);
  if (p != 1 && p != 2)
    return n.fail(ImportCode::kUnsupportedNodeAttr, fmt::format("p is {}; only 1 and 2 are", p));
  const int64_t axis = n.normalized(n.integer_attribute("axis", -1), n.rank(x));
  Value* norm = n.reduce(p == 1 ? ReduceFunction::kL1 : ReduceFunction::kL2, x, {axis}, true);
  Value* safe = n.where(n.equal(norm, n.number(0, n.type(x))), n.number(1, n.type(x)), norm);
  n.output(n.div(x, safe));
}

/// The variance as a mean of squares: a difference of means may round to less than zero.
void import_mean_variance_normalization(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  std::vector<int64_t> axes =
      n.has("axes") ? n.integer_list("axes") : std::vector<int64_t>{0, 2, 3};
  axes = n.normalized(std::move(axes), n.rank(x));
  Value* apart = n.sub(x, n.reduce(ReduceFunction::kMean, x, axes, true));
  Value* variance = n.reduce(ReduceFunction::kMean, n.mul(apart, apart), axes, true);
  n.output(n.div(apart, n.add(n.sqrt(variance), 1e-9)));
}

void import_topk(NodeImporter& n, const OpRow&) {
  const auto op = n.attributes<TopK>();
  Value* k = n.opset() < 10 ? n.integers({n.integer_attribute("k", 1)}) : n.input(1);
  const std::vector<Value*> results = n.add_multiple(op, {n.input(0), k}, 2);
  n.output(0, results[0]);
  n.output(1, results[1]);
}

}  // namespace tenon::importer
