#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {

/// The graph of "graph "" (inputs) { body }"-like text, inferred. Types of results in the text may
/// be anything: inference sets them.
inline std::unique_ptr<Graph> graph_of(const std::string& inputs, const std::string& body) {
  auto graph = parse_graph(fmt::format("graph \"\" ({}) {{{}}}", inputs, body));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  if (!graph.ok()) return nullptr;
  const Status status = infer_graph(**graph);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return status.ok() ? std::move(*graph) : nullptr;
}

/// The message of the inference error.
inline std::string infer_error(const std::string& inputs, const std::string& body) {
  auto graph = parse_graph(fmt::format("graph \"\" ({}) {{{}}}", inputs, body));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  if (!graph.ok()) return "";
  const Status status = infer_graph(**graph);
  EXPECT_FALSE(status.ok());
  return status.ok() ? "" : status.error().message;
}

inline Tensor tensor_of(DataType type, Extents extents, const std::vector<double>& values) {
  Tensor tensor(type, std::move(extents));
  EXPECT_EQ(tensor.count(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set_from_double(static_cast<int64_t>(i), values[i]);
  return tensor;
}

inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.as_double(i));
  return values;
}

/// Evaluates one operator, "matmul", with attributes "{transpose_a = true}", and checks inference
/// against the results.
inline std::vector<Tensor> evaluate(const std::string& op, const std::vector<Tensor>& inputs,
                                    int outputs = 1) {
  std::vector<std::string> parameters, operands, results, types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(fmt::format("%{}", i));
    parameters.push_back(fmt::format("%{}: {}{}", i, name_of(inputs[i].type()),
                                     to_string(to_shape(inputs[i].extents()))));
  }
  for (int i = 0; i < outputs; ++i) {
    results.push_back(fmt::format("%{}", 100 + i));
    types.push_back("f32[]");
  }
  const size_t brace = op.find('{');
  const std::string attributes = brace == std::string::npos ? "" : op.substr(brace);
  const std::string names = fmt::format("{}", fmt::join(results, ","));
  const auto graph =
      graph_of(fmt::format("{}", fmt::join(parameters, ",")),
               fmt::format("{} = {}({}){} : {} return {}", names, op.substr(0, brace),
                           fmt::join(operands, ","), attributes, fmt::join(types, ","), names));
  if (graph == nullptr) return {};
  auto tensors = evaluate_graph(*graph, inputs);
  EXPECT_TRUE(tensors.ok()) << tensors.error().message;
  if (!tensors.ok()) return {};
  for (int i = 0; i < outputs; ++i) {
    EXPECT_EQ(graph->outputs()[i]->type.type, (*tensors)[i].type()) << op;
    if (is_constant(graph->outputs()[i]->type.shape)) {
      EXPECT_EQ(constants(graph->outputs()[i]->type.shape), (*tensors)[i].extents()) << op;
    }
  }
  return std::move(*tensors);
}

}  // namespace tenon
