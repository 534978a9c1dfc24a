#include "onnx/node_exporter.h"

#include <utility>

#include "onnx/tensor_writer.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::importer {

void NodeExporter::fail(std::string_view reason) {
  writer_.model().problems.push_back(
      fmt::format("'{}' ({}): {}", node_.name, node_.op->name(), reason));
}

std::vector<std::string> NodeExporter::ins() const {
  std::vector<std::string> names;
  for (const Value* value : node_.inputs()) names.push_back(writer_.name_of(value));
  return names;
}

std::vector<std::string> NodeExporter::outs() const {
  std::vector<std::string> names;
  for (const Value* value : node_.outputs()) names.push_back(writer_.name_of(value));
  return names;
}

std::string NodeExporter::in64(int index) {
  return has(index) ? cast(in(index), element(index), DataType::kInt64) : "";
}

void NodeExporter::give(const std::string& value, int index) {
  if (!writer_.rename_last(value, out(index), named_ ? node_.name : ""))
    result("Identity", {value}, {out(index)});
}

AddedNode NodeExporter::result(std::string_view type, std::vector<std::string> inputs,
                               std::vector<std::string> outputs) {
  AddedNode added =
      writer_.add(type, std::move(inputs), std::move(outputs), named_ ? node_.name : std::string());
  if (!named_) return added;
  if (node_.origins.size() > 1 || (node_.origins.size() == 1 && node_.origins[0] != node_.name))
    added.proto().set_doc_string(fmt::format("from {}", fmt::join(node_.origins, ", ")));
  return added;
}

std::string NodeExporter::cast(const std::string& x, DataType from, DataType to) {
  if (from == to || x.empty()) return x;
  return step_with("Cast", {x}).integer("to", onnx_number_of(to)).output();
}

std::string NodeExporter::transpose(const std::string& x, const std::vector<int64_t>& permutation) {
  return step_with("Transpose", {x}).integers("perm", permutation).output();
}

std::string NodeExporter::reshape(const std::string& x, const std::vector<int64_t>& extents) {
  return step("Reshape", {x, integers(extents)});
}

std::string NodeExporter::extent(const std::string& x, int axis) {
  return step_with("Shape", {x}).integer("start", axis).integer("end", axis + 1).output();
}

std::string NodeExporter::number(double value, DataType type) {
  Tensor tensor(type, {});
  tensor.set_from_double(0, value);
  return writer_.constant(tensor, "number");
}

std::string NodeExporter::integers(const std::vector<int64_t>& values) {
  return writer_.constant(Tensor::vector_i64(values), "integers");
}

std::string NodeExporter::scalar64(int64_t value) {
  return writer_.constant(Tensor::scalar_i64(value), "integer");
}

std::string NodeExporter::filled(int64_t count, double value, DataType type) {
  Tensor tensor(type, {count});
  for (int64_t i = 0; i < count; ++i) tensor.set_from_double(i, value);
  return writer_.constant(tensor, "filled");
}

void export_node(NodeExporter& node) {
  switch (node.node().kind()) {
// It would join the case with the line behind the macro.
// clang-format off
#define TENON_EXPORT_OP(Struct, function) \
  case OpKind::k##Struct: return function(node);
#define TENON_EXPORT_SAME(Struct, name) \
  case OpKind::k##Struct: return export_as(node, name);
#include "onnx/export.def"
    // clang-format on
    default:
      if (!export_same(node)) node.fail("has no form in ONNX");
  }
}

}  // namespace tenon::importer
