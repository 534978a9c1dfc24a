#include "networks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

class Maker {
 public:
  Value* input(Extents extents) {
    return graph_->add_input("x", {DataType::kFloat32, to_shape(extents), Layout::kRowMajor});
  }

  template <class O> Value* add(O op, std::vector<Value*> inputs, const char* name) {
    Node* node = graph_->add_node(std::make_unique<O>(std::move(op)), std::move(inputs), 1,
                                  fmt::format("{}{}", name, graph_->nodes().size()));
    node->output()->name = node->name + "_out";
    EXPECT_TRUE(infer_node(*node).ok()) << node->name;
    return node->output();
  }

  Value* constant(Tensor tensor) {
    Value* value =
        graph_->add_constant(std::move(tensor), fmt::format("w{}", graph_->nodes().size()));
    EXPECT_TRUE(infer_node(*value->producer()).ok());
    return value;
  }
  Value* normal(Extents extents, double deviation, double mean = 0) {
    std::normal_distribution<double> draw(mean, deviation);
    Tensor tensor(DataType::kFloat32, std::move(extents));
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, draw(random_));
    return constant(std::move(tensor));
  }
  Value* integers(const std::vector<int64_t>& values) {
    return constant(Tensor::vector_i64(values));
  }

  Value* function(PointwiseFunction which, std::vector<Value*> inputs) {
    return add(Pointwise(which), std::move(inputs), pointwise_info(which).name.data());
  }
  Value* plus(Value* a, Value* b) { return function(PointwiseFunction::k_add, {a, b}); }
  Value* times(Value* a, Value* b) { return function(PointwiseFunction::k_mul, {a, b}); }
  Value* relu(Value* a) { return function(PointwiseFunction::k_relu, {a}); }

  Value* through_bytes(Value* x, double step) {
    Value* scale = constant(Tensor::scalar_f32(static_cast<float>(step)));
    Value* q = add(Quantize(), {x, scale}, "quantize");
    return add(Dequantize(), {q, scale}, "dequantize");
  }

  Value* conv(Value* x, int64_t from, int64_t to, int64_t kernel, bool quantized) {
    Value* w = normal({to, from, kernel, kernel}, 1.3 / std::sqrt(double(from * kernel * kernel)));
    Conv op;
    op.pads_begin = op.pads_end = {kernel / 2, kernel / 2};
    if (quantized) x = through_bytes(x, 0.03), w = through_bytes(w, 0.006);
    return add(op, {x, w, normal({to}, 0.3)}, "conv");
  }

  Value* linear(Value* x, int64_t from, int64_t to) {
    Value* y = add(MatMul(), {x, normal({from, to}, 1 / std::sqrt(double(from)))}, "matmul");
    return plus(y, normal({to}, 0.3));
  }

  Value* norm(Value* x, int64_t size) {
    return add(Normalization(), {x, normal({size}, 0.2, 1), normal({size}, 0.2)}, "norm");
  }

  Value* heads(Value* x, int64_t count, int64_t length, int64_t size, bool for_keys) {
    Transpose transpose;
    transpose.permutation = {0, 2, 1, 3};
    x = add(Reshape(), {x, integers({1, length, count, size})}, "reshape");
    x = add(transpose, {x}, "transpose");
    if (!for_keys) return x;
    transpose.permutation = {0, 1, 3, 2};
    return add(transpose, {x}, "transpose");
  }

  std::unique_ptr<Graph> finish(Value* output) {
    output->name = std::string(1, 'y');
    graph_->add_output(output);
    EXPECT_TRUE(infer_graph(*graph_).ok());
    return std::move(graph_);
  }

 private:
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::mt19937 random_{11};
};

Softmax softmax() {
  Softmax op;
  op.axes = {-1};
  return op;
}

Value* attention(Maker& m, Value* x, int64_t length, int64_t size, int64_t count) {
  Value* q = m.heads(m.linear(x, size, size), count, length, size / count, false);
  Value* k = m.heads(m.linear(x, size, size), count, length, size / count, true);
  Value* v = m.heads(m.linear(x, size, size), count, length, size / count, false);
  Tensor mask(DataType::kFloat32, {length, length});
  for (int64_t i = 0; i < mask.count(); ++i)
    mask.set_from_double(i, i % length > i / length ? -1e9 : 0);
  const double scale = 1 / std::sqrt(double(size) / double(count));
  Value* scores = m.add(MatMul(), {q, k}, "scores");
  scores = m.times(scores, m.constant(Tensor::scalar_f32(static_cast<float>(scale))));
  scores = m.plus(scores, m.constant(std::move(mask)));
  Value* y = m.add(MatMul(), {m.add(softmax(), {scores}, "softmax"), v}, "mix");
  Transpose transpose;
  transpose.permutation = {0, 2, 1, 3};
  y = m.add(transpose, {y}, "transpose");
  y = m.add(Reshape(), {y, m.integers({1, length, size})}, "reshape");
  return m.linear(y, size, size);
}

}  // namespace

std::unique_ptr<Graph> image_network(bool quantized) {
  Maker m;
  Value* x = m.relu(m.conv(m.input({1, 8, 24, 24}), 8, 16, 3, quantized));
  Value* y = m.relu(m.conv(x, 16, 16, 3, quantized));
  y = m.relu(m.plus(m.conv(y, 16, 16, 3, quantized), x));
  Pool pool;
  pool.kernel = pool.strides = {2, 2};
  y = m.add(pool, {y}, "pool");
  Value* a = m.relu(m.conv(y, 16, 16, 1, quantized));
  Value* b = m.relu(m.conv(y, 16, 16, 3, quantized));
  Concat concat;
  concat.axis = 1;
  y = m.conv(m.add(concat, {a, b}, "concat"), 32, 32, 1, quantized);
  Reduce mean;
  mean.function = ReduceFunction::kMean;
  mean.axes = {3};
  mean.keep_dims = false;
  y = m.add(mean, {y}, "mean");
  y = m.linear(y, 12, 48);
  return m.finish(m.add(softmax(), {y}, "softmax"));
}

std::unique_ptr<Graph> token_network() {
  constexpr int64_t kLength = 24, kSize = 64;
  Maker m;
  Value* x = m.input({1, kLength, kSize});
  for (int layer = 0; layer < 2; ++layer) {
    x = m.plus(x, attention(m, m.norm(x, kSize), kLength, kSize, 4));
    Value* y = m.norm(x, kSize);
    Value* gate = m.linear(y, kSize, 96);
    y = m.times(m.function(PointwiseFunction::k_swish, {gate}), m.linear(y, kSize, 96));
    x = m.plus(x, m.linear(y, 96, kSize));
  }
  return m.finish(m.norm(x, kSize));
}

}  // namespace tenon
