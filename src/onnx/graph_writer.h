#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {

using NodeList = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// The model that is being written: names, functions, and the problems that came up.
struct ModelWriter {
  ::onnx::ModelProto& model;
  std::vector<std::string> problems = {};  ///< Nodes without a form in ONNX, each with its reason.
  std::set<std::string> tensors = {}, nodes = {}, functions = {};  ///< Names in use.
  int64_t opset = 0;

  /// The wish, or the wish with a number, where it is in use.
  static std::string unused(std::set<std::string>& names, std::string wish);
  /// Operators of later opsets than the usual one.
  void need_opset(int64_t version) { opset = std::max(opset, version); }
};

/// A node that was added; its attributes follow.
class AddedNode {
 public:
  explicit AddedNode(::onnx::NodeProto& node) : node_(node) {}
  AddedNode& integer(std::string_view name, int64_t value);
  AddedNode& real(std::string_view name, double value);
  AddedNode& text(std::string_view name, std::string_view value);
  /// Lists that are empty stand for the default and are left out.
  AddedNode& integers(std::string_view name, const std::vector<int64_t>& values);
  AddedNode& reals(std::string_view name, const std::vector<double>& values);
  AddedNode& texts(std::string_view name, const std::vector<std::string>& values);
  AddedNode& tensor(std::string_view name, const Tensor& value);
  AddedNode& graph(std::string_view name, ::onnx::GraphProto value);
  const std::string& output(int index = 0) const { return node_.output(index); }
  ::onnx::NodeProto& proto() { return node_; }

 private:
  ::onnx::AttributeProto& add(std::string_view name);
  ::onnx::NodeProto& node_;
};

/// The nodes of one graph or function of the model while they are written. Graphs inside see the
/// names of those around them, functions do not.
class GraphWriter {
 public:
  /// Constants become initializers of `graph`.
  GraphWriter(ModelWriter& model, ::onnx::GraphProto& graph, const GraphWriter* around = nullptr)
      : model_(model), nodes_(*graph.mutable_node()), graph_(&graph), around_(around) {}
  /// Constants become nodes.
  GraphWriter(ModelWriter& model, ::onnx::FunctionProto& function)
      : model_(model), nodes_(*function.mutable_node()) {}

  ModelWriter& model() { return model_; }
  /// Of a value that was declared; empty for null.
  std::string name_of(const Value* value) const;
  /// The value is known by the name from here on, with its extents.
  void declare(const Value* value, const std::string& name);
  /// The same by the name reserved for it, else one like the value's own.
  const std::string& declare(const Value* value);
  /// The value gets this very name once it is declared.
  void reserve(const Value* value);
  /// Where the last node made the tensor `now`, it makes `wanted` in its place, and gets the name.
  bool rename_last(const std::string& now, const std::string& wanted, const std::string& node);
  /// A tensor and an axis of it whose extent is the symbol; an empty name where there is none.
  std::pair<std::string, int> place_of(const std::string& symbol) const;

  std::string constant(const Tensor& tensor, const std::string& wish = "constant");
  AddedNode add(std::string_view type, std::vector<std::string> inputs,
                std::vector<std::string> outputs, const std::string& name = {});
  /// One new tensor.
  AddedNode add(std::string_view type, std::vector<std::string> inputs);
  std::string fresh(std::string_view wish);

  /// All nodes of a graph whose inputs are declared.
  void write_nodes(const Graph& graph);
  /// One node, under its name.
  void write_node(const Node& node);

 private:
  void note_extents(const Value* value, const std::string& name);
  /// Whether a node counts extents that are those of no tensor written so far.
  bool lacks_extents(const Node& node) const;
  /// Of the types that the node's operands have.
  void note_opset(const Node& node);

  ModelWriter& model_;
  NodeList& nodes_;
  ::onnx::GraphProto* graph_ = nullptr;
  const GraphWriter* around_ = nullptr;
  std::vector<std::string> written_;  ///< Operators of the node that is being written.
  std::map<const Value*, std::string> names_;
  std::map<std::string, std::pair<std::string, int>> places_;
};

}  // namespace tenon::importer
