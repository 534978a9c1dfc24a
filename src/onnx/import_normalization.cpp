// Normalizations.
#include <numeric>

#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

/// A vector with one number a channel, shaped to broadcast over [N,C,...].
Value* per_channel(NodeImporter& n, Value* vector, int rank) {
  std::vector<int64_t> extents(static_cast<size_t>(std::max(rank - 1, 1)), 1);
  extents[0] = -1;
  return n.reshape(vector, std::move(extents));
}

/// Statistics come from the batch; outputs 1 and 2 are the running ones after it.
void train_batch_normalization(NodeImporter& n, double epsilon) {
  Value* x = n.input(0);
  const double momentum = n.real_attribute("momentum", 0.9);
  const int rank = n.rank(x);
  std::vector<int64_t> axes(static_cast<size_t>(std::max(rank - 1, 1)), 0);
  std::iota(axes.begin() + 1, axes.end(), 2);
  Value* mean = n.reduce(ReduceFunction::kMean, x, axes, false);
  Value* centred = n.sub(x, per_channel(n, mean, rank));
  Value* variance = n.reduce(ReduceFunction::kMean, n.mul(centred, centred), axes, false);
  BatchNorm op;
  op.epsilon = epsilon;
  const DataType type = n.type(x);
  n.output(0, n.add(op, {x, n.cast(n.input(1), type), n.cast(n.input(2), type), mean, variance}));
  const auto running = [&](Value* old, Value* now) {
    return n.add(n.mul(old, momentum), n.mul(n.cast(now, n.type(old)), 1 - momentum));
  };
  if (n.wants(1)) n.output(1, running(n.input(3), mean));
  if (n.wants(2)) n.output(2, running(n.input(4), variance));
}

void normalization(NodeImporter& n, Normalization op, std::vector<Value*> inputs) {
  op.compute = n.type(n.input(0)) == DataType::kFloat64
                   ? DataType::kFloat64
                   : n.type_attribute("stash_type", DataType::kFloat32);
  const int count = n.wants(2) ? 3 : (n.wants(1) ? 2 : 1);
  const std::vector<Value*> results = n.add_multiple(std::move(op), std::move(inputs), count);
  for (int i = 0; i < count; ++i) n.output(i, results[static_cast<size_t>(i)]);
}

}  // namespace

void import_batch_normalization(NodeImporter& n, const OpRow&) {
  const double epsilon = n.real_attribute("epsilon", 1e-5f);
  n.expect("spatial", 1);
  if (n.flag("training_mode") || (n.opset() < 14 && n.wants(1)))
    return train_batch_normalization(n, epsilon);
  BatchNorm op;
  op.epsilon = epsilon;
  std::vector<Value*> inputs = n.inputs();
  for (Value*& input : inputs) input = n.cast(input, n.type(n.input(0)));
  n.output(n.add(op, std::move(inputs)));
}

void import_instance_normalization(NodeImporter& n, const OpRow&) {
  Normalization op;
  op.norm = NormKind::kInstance;
  op.epsilon = n.real_attribute("epsilon", 1e-5f);
  normalization(n, op, n.inputs());
}

void import_layer_normalization(NodeImporter& n, const OpRow&) {
  Normalization op;
  op.norm = NormKind::kLayer;
  op.axis = n.integer_attribute("axis", -1);
  op.epsilon = n.real_attribute("epsilon", 1e-5f);
  normalization(n, op, n.inputs());
}

void import_rms_normalization(NodeImporter& n, const OpRow&) {
  Normalization op;
  op.norm = NormKind::kRms;
  op.axis = n.integer_attribute("axis", -1);
  op.epsilon = n.real_attribute("epsilon", 1e-5f);
  const DataType type = n.type(n.input(0));
  normalization(n, op, {n.input(0), n.cast(n.input(1), type)});
}

/// Opset 18 has scale and bias of one number a group, opset 21 of one a channel.
void import_group_normalization(NodeImporter& n, const OpRow&) {
  Normalization op;
  op.norm = NormKind::kGroup;
  op.epsilon = n.real_attribute("epsilon", 1e-5f);
  op.groups = n.integer_attribute("num_groups", 1);
  if (n.opset() >= 21) return normalization(n, op, n.inputs());
  const int64_t channels = n.constant_extent(n.input(0), 1);
  if (op.groups <= 0 || channels % op.groups != 0)
    return n.fail(ImportCode::kInvalidNode,
                  fmt::format("{} channels do not divide into {} groups", channels, op.groups));
  const auto spread = [&](Value* vector) {
    Value* shape = n.integers({op.groups, channels / op.groups});
    return n.reshape(n.add(Expand{}, {n.unsqueeze(vector, {1}), shape}), {channels});
  };
  normalization(n, op, {n.input(0), spread(n.input(1)), spread(n.input(2))});
}

void import_image_scaler(NodeImporter& n, const OpRow&) {
  Value* x = n.mul(n.input(0), n.real_attribute("scale", 1));
  const std::vector<double> bias = n.real_list("bias");
  if (bias.empty()) return n.output(x);
  Tensor numbers(n.type(x), {static_cast<int64_t>(bias.size())});
  for (size_t i = 0; i < bias.size(); ++i)
    numbers.set_from_double(static_cast<int64_t>(i), bias[i]);
  n.output(n.add(x, per_channel(n, n.constant(std::move(numbers)), n.rank(x))));
}

}  // namespace tenon::importer
