// Losses.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

/// -log_probability[target] * weight[target], with targets equal to ignore_index left out; `none`,
/// `sum` or `mean` (by the weights) over all of them.
Value* negative_log_likelihood(NodeImporter& n, Value* log_probability, Value* target,
                               Value* weights) {
  const int reduction = n.choice("reduction", "mean", {"none", "sum", "mean"});
  const DataType type = n.type(log_probability);
  target = n.cast(target, DataType::kInt64);
  Value* ignored = nullptr;
  if (n.has("ignore_index")) {
    ignored = n.equal(target, n.integer(n.integer_attribute("ignore_index", -1)));
    target = n.where(ignored, n.integer(0), target);
  }
  GatherElements pick;
  pick.axis = 1;
  Value* picked = n.squeeze(n.add(pick, {log_probability, n.unsqueeze(target, {1})}), {1});
  Value* weight = weights ? n.add(Gather{}, {weights, target}) : nullptr;
  if (ignored) {
    Value* one = weight ? weight : n.number(1, type);
    weight = n.where(ignored, n.number(0, type), one);
  }
  Value* loss = n.neg(weight ? n.mul(picked, weight) : picked);
  if (reduction == 0) return loss;
  std::vector<int64_t> axes;
  for (int axis = 0; axis < n.rank(loss); ++axis) axes.push_back(axis);
  if (reduction == 2 && !weight) return n.reduce(ReduceFunction::kMean, loss, axes, false);
  Value* sum = n.reduce(ReduceFunction::kSum, loss, axes, false);
  return reduction == 1 ? sum : n.div(sum, n.reduce(ReduceFunction::kSum, weight, axes, false));
}

}  // namespace

void import_nll_loss(NodeImporter& n, const OpRow&) {
  n.output(negative_log_likelihood(n, n.input(0), n.input(1), n.input(2)));
}

void import_softmax_cross_entropy(NodeImporter& n, const OpRow&) {
  Softmax op;
  op.axes = {1};
  op.log = true;
  Value* log_probability = n.add(std::move(op), {n.input(0)});
  n.output(0, negative_log_likelihood(n, log_probability, n.input(1), n.input(2)));
  if (n.wants(1)) n.output(1, log_probability);
}

}  // namespace tenon::importer
