#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/emitter.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace tenon::importer {

class GraphImporter;
struct OpRow;

/// One ONNX node while it is imported: its attributes (references to a function's attributes
/// resolved), its operands as values, and the emitter that receives its nodes. An import function
/// reads from it, emits, and sets every output.
class NodeImporter : public Emitter {
 public:
  NodeImporter(GraphImporter& graph_importer, const ::onnx::NodeProto& node, int64_t opset,
               std::vector<Value*> inputs, std::string label = {});

  const ::onnx::NodeProto& node() const { return node_; }
  const std::string& op_type() const;
  int64_t opset() const { return opset_; }
  GraphImporter& importer() { return importer_; }

  // Attributes. One of another type than asked for fails the node.
  bool has(std::string_view name) const { return attribute(name) != nullptr; }
  int64_t integer_attribute(std::string_view name, int64_t otherwise);
  bool flag(std::string_view name, bool otherwise = false) {
    return integer_attribute(name, otherwise ? 1 : 0) != 0;
  }
  double real_attribute(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> integer_list(std::string_view name);
  std::vector<double> real_list(std::string_view name);
  std::vector<std::string> text_list(std::string_view name);
  Tensor tensor(std::string_view name);
  /// Null fails the node.
  const ::onnx::GraphProto* body(std::string_view name);
  /// An ONNX type number as our type.
  DataType type_attribute(std::string_view name, DataType otherwise);
  /// The attribute output_dtype, whose default is no type: as good as none, also where it is spelt.
  DataType output_type(DataType otherwise);
  /// One of `words`, as its position.
  int choice(std::string_view name, std::string_view otherwise,
             std::vector<std::string_view> words);
  /// Fails when the attribute is given with another value than `only`.
  void expect(std::string_view name, int64_t only);
  const ::onnx::AttributeProto* attribute(std::string_view name) const;
  /// Those of an operator, as same_form.def spells them; its own values are the defaults.
  void read_attributes(Op& op);
  template <class T> T attributes() {
    T op;
    read_attributes(op);
    return op;
  }

  // Operands.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int index) const { return input(index) != nullptr; }
  Value* input(int index) const {
    return index < input_count() ? inputs_[static_cast<size_t>(index)] : nullptr;
  }
  /// Of an operand that is a constant; null for others and where there is none.
  const Tensor* contents(int index) const {
    return has_input(index) ? input(index)->constant() : nullptr;
  }
  const std::vector<Value*>& inputs() const { return inputs_; }
  int output_count() const;
  bool wants(int index) const;
  /// Contents of an operand that must be known at build time.
  std::vector<int64_t> required_integers(int index, std::string_view what);

  void output(int index, Value* value);
  void output(Value* value) { output(0, value); }
  const std::vector<Value*>& results() const { return results_; }

 private:
  const ::onnx::AttributeProto* typed(std::string_view name, int type);

  GraphImporter& importer_;
  const ::onnx::NodeProto& node_;
  int64_t opset_;
  std::vector<Value*> inputs_;
  std::vector<Value*> results_;
};

}  // namespace tenon::importer
