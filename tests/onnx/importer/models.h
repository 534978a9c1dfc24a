#pragma once

#include <string>
#include <vector>

#include "onnx/importer.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon {

/// Small models for tests, written down with few words.
class ModelBuilder {
 public:
  ModelBuilder() {
    model_.set_ir_version(10);
    auto* opset = model_.add_opset_import();
    opset->set_version(21);
    graph().set_name("test");
  }

  ::onnx::ModelProto& model() { return model_; }
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  ModelBuilder& input(const std::string& name, std::vector<int64_t> extents);
  ModelBuilder& output(const std::string& name);
  ::onnx::NodeProto& node(const std::string& op_type, std::vector<std::string> inputs,
                          std::vector<std::string> outputs);
  ::onnx::TensorProto& weight(const std::string& name, std::vector<int64_t> extents);

  std::string bytes() const { return model_.SerializeAsString(); }
  Result<ImportedModel> import(std::vector<ImportProblem>* problems = nullptr,
                               const std::string& directory = "") const;

 private:
  ::onnx::ModelProto model_;
};

::onnx::NodeProto& add_node(::onnx::GraphProto& graph, const std::string& op_type,
                            std::vector<std::string> inputs, std::vector<std::string> outputs);

}  // namespace tenon
