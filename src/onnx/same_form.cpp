// Attributes of operators from and to ONNX, and the operators whose ONNX form is the IR's:
// operands, results, and attributes with the same defaults, by the names of same_form.def. A row
// ONNX_SAME of onnx.def reads and writes them.
#include <algorithm>

#include "onnx/node_exporter.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "onnx/tensor_writer.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

struct Form {
  OpKind kind;
  std::string_view operands, attributes;
};

constexpr Form kForms[] = {
#define TENON_ONNX_FORM(Struct, operands, attributes) {OpKind::k##Struct, operands, attributes},
#include "onnx/same_form.def"
};

Form form_of(OpKind kind) {
  const auto* const form = std::ranges::find(kForms, kind, &Form::kind);
  return form == std::end(kForms) ? Form{kind, "xl", ""} : *form;
}

/// An attribute in ONNX.
struct Spelling {
  std::string_view name;  ///< Empty: there is none.
  std::vector<std::string_view> words;
  bool absence = false;  ///< A flag that is set where ONNX's attribute is absent.
};

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(between), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Spelling spelling_of(OpKind kind, std::string_view attribute) {
  for (const std::string_view item : parts_of(form_of(kind).attributes, ' ')) {
    const std::string_view ours = item.substr(0, item.find('='));
    if (ours != attribute) continue;
    std::string_view theirs = item.substr(ours.size() + 1);
    const bool absence = theirs.starts_with('!');
    if (absence) theirs.remove_prefix(1);
    const size_t colon = theirs.find(':');
    if (colon == std::string_view::npos) return {theirs, {}, absence};
    return {theirs.substr(0, colon), parts_of(theirs.substr(colon + 1), '|')};
  }
  return {attribute, {}};
}

/// An operator's attributes under ONNX's names.
class OnnxAttributes : public AttributeVisitor {
 public:
  using AttributeVisitor::visit;
  virtual void visit_absence(std::string_view name, bool& absent) = 0;
};

/// Takes the node's own attributes; the operator's own values are the defaults.
class NodeAttributes final : public OnnxAttributes {
 public:
  explicit NodeAttributes(NodeImporter& node) : node_(node) {}

  void visit_absence(std::string_view name, bool& absent) override { absent = !node_.has(name); }
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
class AddedAttributes final : public OnnxAttributes {
 public:
  explicit AddedAttributes(AddedNode& node) : node_(node) {}

  void visit_absence(std::string_view, bool&) override {}
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

/// Passes on an operator's attributes under their names in ONNX; others than ONNX's are left out.
class Renamed final : public AttributeVisitor {
 public:
  Renamed(OpKind kind, OnnxAttributes& theirs) : kind_(kind), theirs_(theirs) {}

  void visit(std::string_view name, bool& value) override {
    const Spelling as = spelling_of(kind_, name);
    if (as.absence) {
      theirs_.visit_absence(as.name, value);
      if (value) absent_ = as.name;
    } else if (!as.words.empty()) {
      int word = value ? 1 : 0;
      theirs_.visit_enum(as.name, word, as.words);
      value = word == 1;
    } else {
      pass_on(name, value);
    }
  }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    const Spelling as = spelling_of(kind_, name);
    if (!as.name.empty()) theirs_.visit_enum(as.name, value, as.words.empty() ? names : as.words);
  }
  void visit(std::string_view name, int64_t& value) override { pass_on(name, value); }
  void visit(std::string_view name, double& value) override { pass_on(name, value); }
  void visit(std::string_view name, std::string& value) override { pass_on(name, value); }
  void visit(std::string_view name, DataType& value) override { pass_on(name, value); }
  void visit(std::string_view name, std::vector<int64_t>& value) override { pass_on(name, value); }
  void visit(std::string_view name, std::vector<double>& value) override { pass_on(name, value); }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    pass_on(name, value);
  }
  void visit(std::string_view name, Tensor& value) override { pass_on(name, value); }

 private:
  template <class T> void pass_on(std::string_view name, T& value) {
    const std::string_view in_onnx = spelling_of(kind_, name).name;
    if (!in_onnx.empty() && in_onnx != absent_) theirs_.visit(in_onnx, value);
  }

  OpKind kind_;
  OnnxAttributes& theirs_;
  std::string_view absent_;  ///< The one that a flag says is absent.
};

/// Of an operator with several names, that of the latest opset.
const OpRow* same_row(OpKind kind) {
  const OpRow* latest = nullptr;
  for (const OpRow& row : op_rows())
    if (row.same == kind && (latest == nullptr || row.first > latest->first)) latest = &row;
  return latest;
}

}  // namespace

void NodeImporter::read_attributes(Op& op) {
  NodeAttributes theirs(*this);
  Renamed ours(op.kind(), theirs);
  op.visit_attributes(ours);
}

AddedNode NodeExporter::with_attributes(AddedNode added) const {
  const std::unique_ptr<Op> op = node().op->clone();
  AddedAttributes theirs(added);
  Renamed ours(op->kind(), theirs);
  op->visit_attributes(ours);
  return added;
}

void import_same(NodeImporter& n, const OpRow& row) {
  const OpInfo& info = op_info(*row.same);
  std::unique_ptr<Op> op = info.make();
  n.read_attributes(*op);
  const int count = std::max(n.output_count(), info.min_outputs);
  std::vector<Value*> results = n.add_node(std::move(op), n.inputs(), count);
  results.resize(static_cast<size_t>(count), nullptr);
  for (int i = 0; i < n.output_count(); ++i) n.output(i, results[static_cast<size_t>(i)]);
}

void export_as(NodeExporter& n, std::string_view name) {
  const std::string_view operands = form_of(n.node().kind()).operands;
  std::vector<std::string> inputs = n.ins();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int input = static_cast<int>(i);
    if (operands[std::min(i, operands.size() - 1)] == 'l' && n.has(input) &&
        n.element(input) == DataType::kInt32)
      inputs[i] = n.in64(input);
  }
  n.with_attributes(n.result(name, std::move(inputs), n.outs()));
}

bool export_same(NodeExporter& n) {
  const OpRow* const row = same_row(n.node().kind());
  if (row == nullptr) return false;
  n.writer().model().need_opset(row->first);
  export_as(n, row->name);
  return true;
}

}  // namespace tenon::importer
