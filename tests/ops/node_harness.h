#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/numerics.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::test {

/// Of results that are compared with numbers worked out by hand.
inline const double kNear = tolerance(Computation::kKernel, DataType::kFloat32).relative;

inline Tensor floats(Extents extents, std::vector<float> values) {
  return Tensor::of<float>(DataType::kFloat32, std::move(extents), values);
}
inline Tensor ints(std::vector<int64_t> values) {
  return Tensor::vector_i64(values);
}
inline Tensor ramp(Extents extents, float start = 0, float step = 1) {
  Tensor tensor(DataType::kFloat32, std::move(extents));
  for (float& value : tensor.mutable_values<float>()) {
    value = start;
    start += step;
  }
  return tensor;
}

/// One node over constants (undefined tensors are absent operands), inferred and evaluated. Checks
/// that inference gives the extents of the evaluation.
template <class T>
std::vector<Tensor> run(T op, const std::vector<Tensor>& inputs, int outputs = 1) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) {
    values.push_back(input.defined() ? graph.add_constant(input) : nullptr);
    pointers.push_back(input.defined() ? &input : nullptr);
  }
  Node* node = graph.add_node(std::make_unique<T>(std::move(op)), values, outputs, "n");
  const Status inferred = infer_node(*node);
  EXPECT_TRUE(inferred.ok()) << (inferred.ok() ? "" : inferred.error().message);
  auto results = evaluate_node(*node, pointers);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().message);
  if (!inferred.ok() || !results.ok()) return std::vector<Tensor>(outputs);
  for (int i = 0; i < outputs; ++i) {
    const TensorType& type = node->output(i)->type;
    EXPECT_EQ(type.type, (*results)[i].type());
    if (is_constant(type.shape)) {
      EXPECT_EQ(constants(type.shape), (*results)[i].extents());
    }
  }
  return std::move(results).value();
}

template <class T> std::string error_of(T op, const std::vector<Tensor>& inputs) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) {
    values.push_back(graph.add_constant(input));
    pointers.push_back(&input);
  }
  Node* node = graph.add_node(std::make_unique<T>(std::move(op)), values, 1, "n");
  const auto results = evaluate_node(*node, pointers);
  return results.ok() ? "" : results.error().message;
}

inline void expect_floats(const Tensor& tensor, const std::vector<float>& expected,
                          double tolerance = kNear) {
  ASSERT_EQ(tensor.count(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(tensor.as_double(static_cast<int64_t>(i)), expected[i], tolerance) << "at " << i;
}

}  // namespace tenon::test
