#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "ir/tensor.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon {

/// An ONNX model that is read, changed and written.
class OnnxModel {
 public:
  /// External data becomes part of the model.
  static Result<OnnxModel> read(const std::string& path);
  /// Shares weights that do not change.
  OnnxModel copy() const;

  ::onnx::GraphProto& graph() { return *proto_->mutable_graph(); }
  const ::onnx::GraphProto& graph() const { return proto_->graph(); }
  /// Of the main domain.
  int64_t opset() const;
  void set_opset(int64_t version);
  void raise_ir_version(int64_t version);

  /// An initializer, a Constant node's value, or weights that nodes make of those; undefined for
  /// other names.
  Result<Tensor> constant(const std::string& name) const;
  /// Follows from constants alone.
  bool is_constant(const std::string& name) const;
  void add_initializer(const std::string& name, const Tensor& tensor);
  /// Initializers that nothing reads any more go, and so do nodes that made weights of them.
  void drop_unused();

  /// For an import, whose graph shares the weights: the model is not to change meanwhile.
  std::shared_ptr<::onnx::ModelProto> proto() const { return proto_; }

 private:
  void index_constants();
  Status compute_weights();

  std::shared_ptr<::onnx::ModelProto> proto_;
  std::unordered_map<std::string, const ::onnx::TensorProto*> constants_;
  /// What nodes make of constants, as exporters leave it: casts of 16 bits, transposes, copies
  /// under another name, scaled weights.
  std::unordered_set<std::string> derived_;
  std::unordered_map<std::string, Tensor> computed_;  ///< Those that are weights.
};

/// A convolution or product, whose second operand may be weights.
bool has_weights(const ::onnx::NodeProto& node);

bool is_main_domain(const std::string& domain);
/// Null where the node does not have it.
const ::onnx::AttributeProto* attribute(const ::onnx::NodeProto& node, std::string_view name);
/// The number of onnx.TensorProto.DataType.
int onnx_type(DataType type);

}  // namespace tenon
