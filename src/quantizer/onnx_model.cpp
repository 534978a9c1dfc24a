#include "quantizer/onnx_model.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "onnx/external_data.h"
#include "onnx/loaded_model.h"
#include "onnx/model_file.h"
#include "onnx/tensor_reader.h"
#include "ops/ops.h"

namespace tenon {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// Two types of 4 bits lie in a byte, the first one low.
std::string packed_nibbles(const Tensor& tensor) {
  std::string bytes(static_cast<size_t>((tensor.count() + 1) / 2), '\0');
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto nibble = static_cast<unsigned>(std::to_integer<unsigned>(tensor.bytes()[i]) & 15U);
    bytes[static_cast<size_t>(i / 2)] = static_cast<char>(
        static_cast<unsigned char>(bytes[static_cast<size_t>(i / 2)]) | (nibble << (i % 2 * 4)));
  }
  return bytes;
}

Status embed(TensorProto& tensor, importer::ExternalDataFolder& folder) {
  if (tensor.data_location() != TensorProto::EXTERNAL) return {};
  std::string location;
  uint64_t offset = 0, length = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::strtoull(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length") length = std::strtoull(entry.value().c_str(), nullptr, 10);
  }
  TENON_ASSIGN(const MappedBytes bytes, folder.map(location, offset, length));
  tensor.set_raw_data(bytes.data, static_cast<size_t>(bytes.size));
  tensor.clear_external_data();
  tensor.set_data_location(TensorProto::DEFAULT);
  return {};
}

}  // namespace

bool is_main_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

const AttributeProto* attribute(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& one : node.attribute())
    if (one.name() == name) return &one;
  return nullptr;
}

int onnx_type(DataType type) {
  switch (type) {
    case DataType::kInt8: return TensorProto::INT8;
    case DataType::kUInt8: return TensorProto::UINT8;
    case DataType::kInt64: return TensorProto::INT64;
    case DataType::kFloat8E4M3: return TensorProto::FLOAT8E4M3FN;
    case DataType::kInt4: return TensorProto::INT4;
    case DataType::kFloat16: return TensorProto::FLOAT16;
    case DataType::kBFloat16: return TensorProto::BFLOAT16;
    default: return TensorProto::FLOAT;
  }
}

Result<OnnxModel> OnnxModel::read(const std::string& path) {
  TENON_ASSIGN(const MappedBytes bytes, map_file(path));
  auto proto = importer::parse_model(bytes.bytes());
  if (!proto.ok()) return std::move(proto).error().with_context(path);
  OnnxModel model;
  model.proto_ = std::make_shared<::onnx::ModelProto>(std::move(**proto));
  importer::ExternalDataFolder folder(importer::folder_of(path.c_str()));
  for (TensorProto& tensor : *model.graph().mutable_initializer()) TENON_TRY(embed(tensor, folder));
  model.index_constants();
  TENON_TRY(model.compute_weights());
  return model;
}

OnnxModel OnnxModel::copy() const {
  OnnxModel model;
  model.proto_ = std::make_shared<::onnx::ModelProto>(*proto_);
  model.derived_ = derived_;
  model.computed_ = computed_;
  model.index_constants();
  return model;
}

void OnnxModel::index_constants() {
  constants_.clear();
  for (const TensorProto& tensor : graph().initializer()) constants_[tensor.name()] = &tensor;
  for (const NodeProto& node : graph().node())
    if (node.op_type() == "Constant" && node.output_size() == 1)
      if (const AttributeProto* value = attribute(node, "value");
          value != nullptr && value->has_t())
        constants_[node.output(0)] = &value->t();
}

int64_t OnnxModel::opset() const {
  for (const auto& import : proto_->opset_import())
    if (is_main_domain(import.domain())) return import.version();
  return 1;
}

void OnnxModel::set_opset(int64_t version) {
  for (auto& import : *proto_->mutable_opset_import())
    if (is_main_domain(import.domain())) import.set_version(version);
  index_constants();
}

void OnnxModel::raise_ir_version(int64_t version) {
  proto_->set_ir_version(std::max<int64_t>(proto_->ir_version(), version));
}

bool OnnxModel::is_constant(const std::string& name) const {
  return constants_.contains(name) || derived_.contains(name);
}

Result<Tensor> OnnxModel::constant(const std::string& name) const {
  if (const auto found = computed_.find(name); found != computed_.end()) return found->second;
  const auto found = constants_.find(name);
  if (found == constants_.end()) return Tensor();
  importer::ExternalDataFolder nothing("");
  // The tensor may share the message's bytes, which the model holds.
  importer::TensorReader reader(std::shared_ptr<const void>(proto_.get(), [](const void*) {}),
                                nothing, false);
  return reader.read(*found->second);
}

void OnnxModel::add_initializer(const std::string& name, const Tensor& tensor) {
  TensorProto& proto = *graph().add_initializer();
  proto.set_name(name);
  proto.set_data_type(onnx_type(tensor.type()));
  for (const int64_t extent : tensor.extents()) proto.add_dims(extent);
  if (tensor.type() == DataType::kInt4)
    proto.set_raw_data(packed_nibbles(tensor));
  else
    proto.set_raw_data(tensor.bytes(), static_cast<size_t>(tensor.byte_count()));
  constants_[name] = &proto;
}

namespace {

using Reads = std::unordered_map<std::string, int>;

void count_reads(const ::onnx::GraphProto& graph, Reads& reads) {
  for (const auto& output : graph.output()) ++reads[output.name()];
  for (const NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) ++reads[input];
    for (const AttributeProto& one : node.attribute()) {
      if (one.has_g()) count_reads(one.g(), reads);
      for (const auto& inner : one.graphs()) count_reads(inner, reads);
    }
  }
}

}  // namespace

void OnnxModel::drop_unused() {
  Reads reads;
  count_reads(graph(), reads);
  // Layers have copies of weights that nodes made of constants. Readers come after their operands.
  auto* nodes = graph().mutable_node();
  for (int i = nodes->size() - 1; i >= 0; --i) {
    const NodeProto& node = nodes->Get(i);
    if (std::ranges::any_of(node.output(), [&](const std::string& name) {
          return reads[name] > 0 || !derived_.contains(name);
        }))
      continue;
    for (const std::string& input : node.input()) --reads[input];
    nodes->DeleteSubrange(i, 1);
  }
  const auto is_unused = [&](const std::string& name) { return reads[name] <= 0; };
  // Inputs with a default, as initializers were once, are not to become real ones.
  auto* inputs = graph().mutable_input();
  for (int i = inputs->size() - 1; i >= 0; --i)
    if (is_unused(inputs->Get(i).name()) && constants_.contains(inputs->Get(i).name()))
      inputs->DeleteSubrange(i, 1);
  auto* all = graph().mutable_initializer();
  for (int i = all->size() - 1; i >= 0; --i)
    if (is_unused(all->Get(i).name())) all->DeleteSubrange(i, 1);
  index_constants();
}

}  // namespace tenon
