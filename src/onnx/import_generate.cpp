// Constants, fills and random numbers.
#include <cmath>

#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

/// A model that gives no seed still has the same numbers in every run, and different ones a node.
int64_t seed(NodeImporter& n) {
  if (n.has("seed"))
    return static_cast<int64_t>(std::llround(n.real_attribute("seed", 0) * 65536.0));
  int64_t hash = 5381;
  for (char c : n.op_type()) hash = (hash * 33 + c) & 0x7fffffff;
  return hash + static_cast<int64_t>(n.graph().nodes().size());
}

Tensor real_vector(const std::vector<double>& numbers) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return Tensor::of<float>(DataType::kFloat32, {static_cast<int64_t>(floats.size())}, floats);
}

}  // namespace

void import_constant(NodeImporter& n, const OpRow&) {
  if (n.has("value")) return n.output(n.constant(n.tensor("value")));
  if (n.has("sparse_value")) return n.output(n.constant(n.tensor("sparse_value")));
  if (n.has("value_float"))
    return n.output(
        n.constant(Tensor::scalar_f32(static_cast<float>(n.real_attribute("value_float", 0)))));
  if (n.has("value_floats")) return n.output(n.constant(real_vector(n.real_list("value_floats"))));
  if (n.has("value_int")) return n.output(n.integer(n.integer_attribute("value_int", 0)));
  if (n.has("value_ints")) return n.output(n.integers(n.integer_list("value_ints")));
  n.fail(ImportCode::kUnsupportedNodeAttr,
         "the constant has no tensor, number or list of numbers (strings are not imported)");
}

void import_constant_of_shape(NodeImporter& n, const OpRow&) {
  Tensor value = n.has("value") ? n.tensor("value") : Tensor::scalar_f32(0);
  if (n.ok() && value.count() != 1)
    return n.fail(ImportCode::kInvalidNode, "value must have one element");
  n.output(n.fill(n.input(0), n.ok() ? value.reshaped({}) : value));
}

/// Half-precision ranges step in f32, as stash_type says.
void import_range(NodeImporter& n, const OpRow&) {
  const DataType type = n.type(n.input(0));
  const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  std::vector<Value*> inputs = n.inputs();
  if (inputs.size() == 2) inputs.push_back(n.number(1, type));  // As ONNX Runtime's may have it.
  for (Value*& input : inputs)
    if (half) input = n.cast(input, DataType::kFloat32);
  n.output(n.cast(n.add(RangeOf{}, std::move(inputs)), type));
}

void import_random(NodeImporter& n, const OpRow&) {
  const bool normal = n.op_type().starts_with("RandomNormal");
  const bool like = n.op_type().ends_with("Like");
  Random op;
  op.distribution = normal ? Distribution::kNormal : Distribution::kUniform;
  op.a = normal ? n.real_attribute("mean", 0) : n.real_attribute("low", 0);
  op.b = normal ? n.real_attribute("scale", 1) : n.real_attribute("high", 1);
  op.to = n.type_attribute("dtype", like ? n.type(n.input(0)) : DataType::kFloat32);
  op.seed = seed(n);
  Value* shape = like ? n.shape_of(n.input(0)) : n.integers(n.integer_list("shape"));
  n.output(n.add(op, {shape}));
}

void import_bernoulli(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<Bernoulli>();
  op.seed = seed(n);
  n.output(n.add(op, {n.input(0)}));
}

void import_multinomial(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<Multinomial>();
  op.seed = seed(n);
  n.output(n.add(op, {n.input(0)}));
}

/// Without training it is the identity and the mask is all true.
void import_dropout(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  const bool has_mode = n.opset() >= 12 && n.has_input(2);
  const std::optional<double> mode = has_mode ? n.known_number(n.input(2)) : 0.0;
  const std::optional<double> ratio = n.has_input(1) ? n.known_number(n.input(1)) : 0.5;
  if (!mode || !ratio)
    return n.fail(ImportCode::kUnsupportedNodeInput,
                  "ratio and training_mode must be known at build time");
  const DataType mask_type = n.opset() < 10 ? n.type(x) : DataType::kBool;
  if (*mode == 0 || *ratio == 0) {
    n.output(0, n.add(Identity{}, {x}));
    if (n.wants(1)) n.output(1, n.filled_like(x, 1, mask_type));
    return;
  }
  if (*ratio >= 1) return n.fail(ImportCode::kInvalidNode, "ratio must be below 1");
  Random uniform;
  uniform.seed = n.has("seed") ? n.integer_attribute("seed", 0) : seed(n);
  Value* draw = n.add(uniform, {n.shape_of(x)});
  Value* keep =
      n.pointwise(PointwiseFunction::k_greater_equal, {draw, n.number(*ratio, DataType::kFloat32)});
  Value* scaled = n.mul(x, 1 / (1 - *ratio));
  n.output(0, n.where(keep, scaled, n.number(0, n.type(x))));
  if (n.wants(1)) n.output(1, keep);
}

}  // namespace tenon::importer
