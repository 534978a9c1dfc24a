#include "onnx/node_importer.h"

#include <algorithm>

#include "base/printable.h"
#include "onnx/graph_importer.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {

using ::onnx::AttributeProto;

NodeImporter::NodeImporter(GraphImporter& importer, const ::onnx::NodeProto& node, int64_t opset,
                           std::vector<Value*> inputs, std::string label)
    : Emitter(importer.graph(), importer.folded(), std::move(label)),
      importer_(importer),
      node_(node),
      opset_(opset),
      inputs_(std::move(inputs)) {}

const std::string& NodeImporter::op_type() const {
  return node_.op_type();
}

const AttributeProto* NodeImporter::attribute(std::string_view name) const {
  for (const AttributeProto& own : node_.attribute()) {
    if (own.name() != name) continue;
    if (own.ref_attr_name().empty()) return &own;
    const auto& outer = importer_.frame().attributes;
    const auto found = outer.find(own.ref_attr_name());
    return found == outer.end() ? nullptr : found->second;
  }
  return nullptr;
}

const AttributeProto* NodeImporter::typed(std::string_view name, int type) {
  const AttributeProto* found = attribute(name);
  if (!found) return nullptr;
  if (found->type() == type) return found;
  // Very old files leave the type out.
  if (found->type() == AttributeProto::UNDEFINED) return found;
  fail(ImportCode::kInvalidNode, fmt::format("attribute \"{}\" is of type {}, not {}", name,
                                             static_cast<int>(found->type()), type));
  return nullptr;
}

int64_t NodeImporter::integer_attribute(std::string_view name, int64_t otherwise) {
  const AttributeProto* found = typed(name, AttributeProto::INT);
  return found ? found->i() : otherwise;
}

double NodeImporter::real_attribute(std::string_view name, double otherwise) {
  const AttributeProto* found = typed(name, AttributeProto::FLOAT);
  return found ? static_cast<double>(found->f()) : otherwise;
}

std::string NodeImporter::text(std::string_view name, std::string_view otherwise) {
  const AttributeProto* found = typed(name, AttributeProto::STRING);
  return found ? found->s() : std::string(otherwise);
}

std::vector<int64_t> NodeImporter::integer_list(std::string_view name) {
  const AttributeProto* found = typed(name, AttributeProto::INTS);
  return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end())
               : std::vector<int64_t>{};
}

std::vector<double> NodeImporter::real_list(std::string_view name) {
  const AttributeProto* found = typed(name, AttributeProto::FLOATS);
  return found ? std::vector<double>(found->floats().begin(), found->floats().end())
               : std::vector<double>{};
}

std::vector<std::string> NodeImporter::text_list(std::string_view name) {
  const AttributeProto* found = typed(name, AttributeProto::STRINGS);
  return found ? std::vector<std::string>(found->strings().begin(), found->strings().end())
               : std::vector<std::string>{};
}

Tensor NodeImporter::tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  if (!found) {
    fail(ImportCode::kInvalidNode, fmt::format("attribute \"{}\" is missing", name));
    return {};
  }
  Result<Tensor> result = found->has_sparse_tensor()
                              ? importer_.context().tensors.read(found->sparse_tensor())
                              : importer_.context().tensors.read(found->t());
  if (result.ok()) return *result;
  fail(result.error());
  return {};
}

const ::onnx::GraphProto* NodeImporter::body(std::string_view name) {
  const AttributeProto* found = typed(name, AttributeProto::GRAPH);
  if (found) return &found->g();
  fail(ImportCode::kInvalidNode, fmt::format("attribute \"{}\", a graph, is missing", name));
  return nullptr;
}

DataType NodeImporter::type_attribute(std::string_view name, DataType otherwise) {
  if (!has(name)) return otherwise;
  const int64_t number = integer_attribute(name, 1);
  const bool doubles_too = !importer_.context().options.double_as_float;
  if (const std::optional<DataType> type = data_type_of(number))
    return *type == DataType::kFloat64 && !doubles_too ? DataType::kFloat32 : *type;
  fail(ImportCode::kUnsupportedNodeDatatype,
       fmt::format("element type {} is not imported", onnx_type_name(number)));
  return otherwise;
}

DataType NodeImporter::output_type(DataType otherwise) {
  constexpr const char* kName = "output_dtype";
  return integer_attribute(kName, 0) == 0 ? otherwise : type_attribute(kName, otherwise);
}

int NodeImporter::choice(std::string_view name, std::string_view otherwise,
                         std::vector<std::string_view> words) {
  const std::string word = text(name, otherwise);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  fail(ImportCode::kUnsupportedNodeAttr, fmt::format("attribute {} is \"{}\"; known are {}", name,
                                                     clipped(word, 100), fmt::join(words, ", ")));
  return 0;
}

void NodeImporter::expect(std::string_view name, int64_t only) {
  const int64_t value = integer_attribute(name, only);
  if (value != only)
    fail(ImportCode::kUnsupportedNodeAttr,
         fmt::format("attribute {} is {}; only {} is supported", name, value, only));
}

int NodeImporter::output_count() const {
  return node_.output_size();
}

bool NodeImporter::wants(int index) const {
  return index < node_.output_size() && !node_.output(index).empty();
}

std::vector<int64_t> NodeImporter::required_integers(int index, std::string_view what) {
  const std::optional<std::vector<int64_t>> values = known_integers(input(index));
  if (!values && ok())
    fail(ImportCode::kUnsupportedNodeInput,
         fmt::format("{} (input {}) must be known at build time: make it an initializer", what,
                     index));
  return values.value_or(std::vector<int64_t>{});
}

void NodeImporter::output(int index, Value* value) {
  if (results_.size() <= static_cast<size_t>(index))
    results_.resize(static_cast<size_t>(index) + 1);
  results_[static_cast<size_t>(index)] = value;
}

}  // namespace tenon::importer
