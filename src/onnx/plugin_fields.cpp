#include "onnx/plugin_fields.h"

#include <limits>

#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using nvinfer1::PluginFieldType;
using ::onnx::AttributeProto;

/// Elements of a field, as bytes.
struct Contents {
  PluginFieldType type = PluginFieldType::kUNKNOWN;
  int64_t length = 0;
  std::string bytes;
};

template <class To, class From> Contents numbers(PluginFieldType type, const From& values) {
  Contents contents{type, static_cast<int64_t>(values.size()), {}};
  for (const auto value : values) {
    const To element = static_cast<To>(value);
    contents.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
  return contents;
}

template <class Values> Contents reals(PluginFieldType declared, const Values& values) {
  return declared == PluginFieldType::kFLOAT64 ? numbers<double>(declared, values)
                                               : numbers<float>(PluginFieldType::kFLOAT32, values);
}

template <class Values> Result<Contents> integers(PluginFieldType declared, const Values& values) {
  if (declared == PluginFieldType::kINT64) return numbers<int64_t>(declared, values);
  for (const int64_t value : values)
    if (value != static_cast<int32_t>(value))
      return user_error("{} does not fit into 32 bits: declare the field as kINT64", value);
  return numbers<int32_t>(PluginFieldType::kINT32, values);
}

/// Nothing for types of less than a byte and those that fields have no word for.
PluginFieldType field_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return PluginFieldType::kFLOAT32;
    case DataType::kFloat64: return PluginFieldType::kFLOAT64;
    case DataType::kFloat16: return PluginFieldType::kFLOAT16;
    case DataType::kBFloat16: return PluginFieldType::kBF16;
    case DataType::kInt64: return PluginFieldType::kINT64;
    case DataType::kInt32: return PluginFieldType::kINT32;
    case DataType::kInt16: return PluginFieldType::kINT16;
    case DataType::kInt8:
    case DataType::kUInt8:
    case DataType::kBool: return PluginFieldType::kINT8;
    default: return PluginFieldType::kUNKNOWN;
  }
}

Result<Contents> tensor(NodeImporter& node, const std::string& name) {
  const Tensor tensor = node.tensor(name);
  if (!node.ok()) return node.error();
  const PluginFieldType type = field_type(tensor.type());
  if (type == PluginFieldType::kUNKNOWN)
    return unsupported("tensors of type {} cannot be fields", name_of(tensor.type()));
  return Contents{type, tensor.count(),
                  std::string(reinterpret_cast<const char*>(tensor.bytes()),
                              static_cast<size_t>(tensor.byte_count()))};
}

Result<Contents> contents_of(NodeImporter& node, const std::string& name,
                             const AttributeProto& attribute, PluginFieldType declared) {
  switch (attribute.type()) {
    case AttributeProto::FLOAT: return reals(declared, std::vector<float>{attribute.f()});
    case AttributeProto::FLOATS: return reals(declared, attribute.floats());
    case AttributeProto::INT: return integers(declared, std::vector<int64_t>{attribute.i()});
    case AttributeProto::INTS: return integers(declared, attribute.ints());
    case AttributeProto::STRING:
      return Contents{PluginFieldType::kCHAR, static_cast<int64_t>(attribute.s().size()),
                      attribute.s()};
    case AttributeProto::TENSOR: return tensor(node, name);
    default:
      return unsupported("attributes of type {} cannot be fields",
                         static_cast<int>(attribute.type()));
  }
}

}  // namespace

Result<plugin::StoredFields> read_plugin_fields(NodeImporter& node,
                                                const nvinfer1::PluginFieldCollection* declared) {
  plugin::StoredFields fields;
  const int32_t count = declared == nullptr ? 0 : declared->nbFields;
  for (int32_t i = 0; i < count; ++i) {
    const nvinfer1::PluginField& field = declared->fields[i];
    const std::string name = field.name == nullptr ? "" : field.name;
    const AttributeProto* attribute = node.attribute(name);
    if (attribute == nullptr) continue;
    Result<Contents> contents = contents_of(node, name, *attribute, field.type);
    if (contents.ok() && contents->length > std::numeric_limits<int32_t>::max())
      contents = user_error("{} elements are too many", contents->length);
    if (!contents.ok())
      return std::move(contents).error().with_context(fmt::format("attribute \"{}\"", name));
    fields.add(name, contents->type, static_cast<int32_t>(contents->length),
               std::move(contents->bytes));
  }
  return fields;
}

}  // namespace tenon::importer
