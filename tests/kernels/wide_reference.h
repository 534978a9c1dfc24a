#pragma once

#include <map>
#include <span>
#include <vector>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::test {

inline Tensor in_type(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  Tensor result(type, tensor.extents());
  for (int64_t i = 0; i < tensor.count(); ++i) result.set_from_double(i, tensor.as_double(i));
  return result;
}

inline Tensor widened(const Tensor& tensor) {
  const bool narrow = tensor.type() == DataType::kFloat16 || tensor.type() == DataType::kBFloat16;
  return narrow ? in_type(tensor, DataType::kFloat32) : tensor;
}

/// The results of a graph that is one region, as a kernel for it gives them: 16-bit values inside
/// are f32, and results are rounded once. evaluate_graph() rounds behind every step, so that a
/// square of a sum of several steps is several times as far from the truth as a kernel may be.
/// Casts round, too, where the graph has them.
inline Result<std::vector<Tensor>> evaluate_widely(const Graph& graph,
                                                   std::span<const Tensor> inputs) {
  std::map<const Value*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = widened(inputs[i]);
  for (const auto& node : graph.nodes()) {
    if (const Tensor* constant = node->op->constant_value()) {
      values[node->output()] = widened(*constant);
      continue;
    }
    std::vector<const Tensor*> operands;
    for (const Value* input : node->inputs())
      operands.push_back(input == nullptr ? nullptr : &values.at(input));
    TENON_ASSIGN(const std::vector<Tensor> results, evaluate_node(*node, operands));
    for (size_t i = 0; i < results.size(); ++i) values[node->outputs()[i]] = widened(results[i]);
  }
  std::vector<Tensor> results;
  for (const Value* output : graph.outputs())
    results.push_back(in_type(values.at(output), output->type.type));
  return results;
}

}  // namespace tenon::test
