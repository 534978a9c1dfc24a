#include "models.h"

namespace tenon {

ModelBuilder& ModelBuilder::input(const std::string& name, std::vector<int64_t> extents) {
  auto* value = graph().add_input();
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  type->mutable_shape();
  for (int64_t extent : extents) type->mutable_shape()->add_dim()->set_dim_value(extent);
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

::onnx::NodeProto& ModelBuilder::node(const std::string& op_type, std::vector<std::string> inputs,
                                      std::vector<std::string> outputs) {
  return add_node(graph(), op_type, std::move(inputs), std::move(outputs));
}

::onnx::TensorProto& ModelBuilder::weight(const std::string& name, std::vector<int64_t> extents) {
  auto* tensor = graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  for (int64_t extent : extents) tensor->add_dims(extent);
  return *tensor;
}

Result<ImportedModel> ModelBuilder::import(std::vector<ImportProblem>* problems,
                                           const std::string& directory) const {
  const std::string text = bytes();
  ImportRequest request;
  request.bytes = std::as_bytes(std::span(text));
  request.directory = directory;
  return import_model(request, problems);
}

::onnx::NodeProto& add_node(::onnx::GraphProto& graph, const std::string& op_type,
                            std::vector<std::string> inputs, std::vector<std::string> outputs) {
  auto* node = graph.add_node();
  node->set_op_type(op_type);
  for (const std::string& name : inputs) node->add_input(name);
  for (const std::string& name : outputs) node->add_output(name);
  return *node;
}

}  // namespace tenon
