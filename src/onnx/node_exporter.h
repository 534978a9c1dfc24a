#pragma once

#include <string>
#include <vector>

#include "onnx/graph_writer.h"
#include "ops/pointwise_function.h"

namespace tenon::importer {

/// One node of the graph while it is written: its operands and results by name, and the nodes of
/// ONNX that stand for it. Names of tensors are in the writer's scope.
class NodeExporter {
 public:
  /// `named`: nodes that give results have the node's name and origins.
  NodeExporter(GraphWriter& writer, const Node& node, bool named = true)
      : writer_(writer), node_(node), named_(named) {}

  const Node& node() const { return node_; }
  GraphWriter& writer() { return writer_; }
  /// The model cannot be written; the reason names the node already.
  void fail(std::string_view reason);

  // Operands: names (empty where there is none), types, extents.
  std::string in(int index) const { return writer_.name_of(node_.input(index)); }
  bool has(int index) const { return node_.has_input(index); }
  std::vector<std::string> ins() const;
  const TensorType& type(int index) const { return node_.input(index)->type; }
  DataType element(int index) const { return type(index).type; }
  int rank(int index) const { return static_cast<int>(type(index).shape.size()); }
  /// The operand as i64, which ONNX asks for where it says shapes, axes and counts.
  std::string in64(int index);

  // Results. Absent where nothing wants them and ONNX takes an empty name.
  std::string out(int index = 0) const { return writer_.name_of(node_.output(index)); }
  std::vector<std::string> outs() const;
  void declare_output(const Value& value) { writer_.declare(&value); }

  // Nodes.
  /// One node of ONNX with all operands and results of this one.
  AddedNode plain(std::string_view type) { return result(type, ins(), outs()); }
  AddedNode result(std::string_view type, std::vector<std::string> inputs) {
    return result(type, std::move(inputs), {out()});
  }
  AddedNode result(std::string_view type, std::vector<std::string> inputs,
                   std::vector<std::string> outputs);
  /// The node with the operator's attributes, as far as same_form.def says that ONNX has them.
  AddedNode with_attributes(AddedNode added) const;
  /// The tensor is the result.
  void give(const std::string& value, int index = 0);
  /// An intermediate tensor.
  std::string step(std::string_view type, std::vector<std::string> inputs) {
    return writer_.add(type, std::move(inputs)).output();
  }
  AddedNode step_with(std::string_view type, std::vector<std::string> inputs) {
    return writer_.add(type, std::move(inputs));
  }
  std::string cast(const std::string& x, DataType from, DataType to);
  std::string transpose(const std::string& x, const std::vector<int64_t>& permutation);
  std::string reshape(const std::string& x, const std::vector<int64_t>& extents);
  /// One extent of a tensor, [1] of i64.
  std::string extent(const std::string& x, int axis);

  // Constants.
  std::string number(double value, DataType type);
  std::string integers(const std::vector<int64_t>& values);
  std::string scalar64(int64_t value);
  /// A vector of one value.
  std::string filled(int64_t count, double value, DataType type);

 private:
  GraphWriter& writer_;
  const Node& node_;
  const bool named_;
};

/// Writes the node as export.def says.
void export_node(NodeExporter& node);

/// A scalar function of tensors of a type; an empty name after a problem.
std::string export_function(NodeExporter& node, PointwiseFunction function, double alpha,
                            double beta, const std::vector<std::string>& operands, DataType type);

/// An expression over extents as a tensor [1] of i64.
std::string export_extent(NodeExporter& node, const Dim& extent);

/// Has `write(inner)` write the node's meaning into a local function of that name, which one node
/// calls; all that `inner` is asked for is in the function's scope.
template <class Write>
void export_as_function(NodeExporter& node, const std::string& name, Write&& write);

/// Opens such a function: the operands are its inputs, by new names.
::onnx::FunctionProto& open_function(NodeExporter& node, const std::string& name);
/// Declares the operands in the function's scope; absent ones stay absent.
void declare_inputs(NodeExporter& node, ::onnx::FunctionProto& function, GraphWriter& inside);
/// Declares results, and calls the function from the node's scope.
void call_function(NodeExporter& node, ::onnx::FunctionProto& function, const GraphWriter& inside);

template <class Write>
void export_as_function(NodeExporter& node, const std::string& name, Write&& write) {
  ::onnx::FunctionProto& function = open_function(node, name);
  GraphWriter inside(node.writer().model(), function);
  declare_inputs(node, function, inside);
  NodeExporter inner(inside, node.node(), false);
  for (const Value* output : node.node().outputs()) inside.declare(output);
  write(inner);
  call_function(node, function, inside);
}

/// Writes the node as the operator of that name, with the same operands, results and attributes.
void export_as(NodeExporter& node, std::string_view name);
/// Writes an operator that ONNX has with the same attributes; false: no row of onnx.def says so.
bool export_same(NodeExporter& node);

// The functions that rows of export.def name.
#define TENON_EXPORT_OP(Struct, function) void function(NodeExporter& node);
#include "onnx/export.def"

}  // namespace tenon::importer
