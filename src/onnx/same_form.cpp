// Operators whose ONNX form is the IR's: operands, results, and attributes by the same names and
// with the same defaults. A row ONNX_SAME of onnx.def reads and writes them.
#include <algorithm>

#include "onnx/node_exporter.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "onnx/tensor_writer.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

/// Takes what the node has; the operator's own values are the defaults.
class NodeAttributes final : public AttributeVisitor {
 public:
  explicit NodeAttributes(NodeImporter& node) : node_(node) {}

  void visit(std::string_view name, bool& value) override { value = node_.flag(name, value); }
  void visit(std::string_view name, int64_t& value) override {
    value = node_.integer_attribute(name, value);
  }
  void visit(std::string_view name, double& value) override {
    value = node_.real_attribute(name, value);
  }
  void visit(std::string_view name, std::string& value) override {
    value = node_.text(name, value);
  }
  void visit(std::string_view name, DataType& value) override {
    value = node_.type_attribute(name, value);
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    if (node_.has(name)) value = node_.integer_list(name);
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    if (node_.has(name)) value = node_.real_list(name);
  }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    if (node_.has(name)) value = node_.text_list(name);
  }
  void visit(std::string_view name, Tensor& value) override {
    if (node_.has(name)) value = node_.tensor(name);
  }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    value = node_.choice(name, names[static_cast<size_t>(value)], {names.begin(), names.end()});
  }

 private:
  NodeImporter& node_;
};

/// The other way round.
class AddedAttributes final : public AttributeVisitor {
 public:
  explicit AddedAttributes(AddedNode& node) : node_(node) {}

  void visit(std::string_view name, bool& value) override { node_.integer(name, value ? 1 : 0); }
  void visit(std::string_view name, int64_t& value) override { node_.integer(name, value); }
  void visit(std::string_view name, double& value) override { node_.real(name, value); }
  void visit(std::string_view name, std::string& value) override { node_.text(name, value); }
  void visit(std::string_view name, DataType& value) override {
    node_.integer(name, onnx_number_of(value));
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    node_.integers(name, value);
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    node_.reals(name, value);
  }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    node_.texts(name, value);
  }
  void visit(std::string_view name, Tensor& value) override {
    if (value.defined()) node_.tensor(name, value);
  }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    node_.text(name, names[static_cast<size_t>(value)]);
  }

 private:
  AddedNode& node_;
};

const OpRow* same_row(OpKind kind) {
  const auto rows = op_rows();
  const auto row = std::ranges::find_if(rows, [&](const OpRow& one) { return one.same == kind; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

void import_same(NodeImporter& n, const OpRow& row) {
  const OpInfo& info = op_info(*row.same);
  std::unique_ptr<Op> op = info.make();
  NodeAttributes attributes(n);
  op->visit_attributes(attributes);
  const int count = std::max(n.output_count(), info.min_outputs);
  std::vector<Value*> results = n.add_node(std::move(op), n.inputs(), count);
  results.resize(static_cast<size_t>(count), nullptr);
  for (int i = 0; i < n.output_count(); ++i) n.output(i, results[static_cast<size_t>(i)]);
}

bool export_same(NodeExporter& n) {
  const OpRow* const row = same_row(n.node().kind());
  if (row == nullptr) return false;
  std::vector<std::string> inputs = n.ins();
  // Behind the data stand shapes, axes and counts, which are i64 there.
  for (int i = 1; i < static_cast<int>(inputs.size()); ++i)
    if (n.has(i) && n.element(i) == DataType::kInt32) inputs[static_cast<size_t>(i)] = n.in64(i);
  AddedNode added = n.result(row->name, std::move(inputs), n.outs());
  const std::unique_ptr<Op> op = n.node().op->clone();
  AddedAttributes attributes(added);
  op->visit_attributes(attributes);
  return true;
}

}  // namespace tenon::importer
