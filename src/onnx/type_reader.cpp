#include "onnx/type_reader.h"

#include <fmt/format.h>

#include <iterator>

#include "base/ascii.h"
#include "base/printable.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

struct Row {
  std::string_view name;
  std::optional<DataType> type;
};

// By number of onnx.TensorProto.DataType.
constexpr Row kTypes[] = {
    {"UNDEFINED", {}},
    {"FLOAT", DataType::kFloat32},
    {"UINT8", DataType::kUInt8},
    {"INT8", DataType::kInt8},
    {"UINT16", DataType::kUInt16},
    {"INT16", DataType::kInt16},
    {"INT32", DataType::kInt32},
    {"INT64", DataType::kInt64},
    {"STRING", {}},
    {"BOOL", DataType::kBool},
    {"FLOAT16", DataType::kFloat16},
    {"DOUBLE", DataType::kFloat64},
    {"UINT32", DataType::kUInt32},
    {"UINT64", DataType::kUInt64},
    {"COMPLEX64", {}},
    {"COMPLEX128", {}},
    {"BFLOAT16", DataType::kBFloat16},
    {"FLOAT8E4M3FN", DataType::kFloat8E4M3},
    {"FLOAT8E4M3FNUZ", DataType::kFloat8E4M3Fnuz},
    {"FLOAT8E5M2", DataType::kFloat8E5M2},
    {"FLOAT8E5M2FNUZ", DataType::kFloat8E5M2Fnuz},
    {"UINT4", DataType::kUInt4},
    {"INT4", DataType::kInt4},
    {"FLOAT4E2M1", DataType::kFloat4E2M1},
    {"FLOAT8E8M0", DataType::kFloat8E8M0},
    {"UINT2", DataType::kUInt2},
    {"INT2", DataType::kInt2},
    {"FLOAT6E2M3", {}},
    {"FLOAT6E3M2", {}},
};

bool known(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(std::size(kTypes));
}

Result<Dim> dim_of(const ::onnx::TensorShapeProto::Dimension& dim, std::string_view name, int axis,
                   Graph& graph) {
  if (dim.has_dim_value() && dim.dim_value() >= 0) return Dim(dim.dim_value());
  if (dim.has_dim_param() && !dim.dim_param().empty()) {
    const std::string symbol = symbol_name(dim.dim_param(), name, axis);
    graph.symbol_ranges.emplace(symbol, Range{});
    return Dim::symbol(symbol);
  }
  const std::string symbol = symbol_name(fmt::format("{}_{}", name, axis), name, axis);
  graph.symbol_ranges.emplace(symbol, Range{});
  return Dim::symbol(symbol);
}

}  // namespace

std::optional<DataType> data_type_of(int64_t number) {
  return known(number) ? kTypes[number].type : std::nullopt;
}

int file_bits(DataType type) {
  switch (type) {
    case DataType::kInt4:
    case DataType::kUInt4:
    case DataType::kFloat4E2M1: return 4;
    case DataType::kInt2:
    case DataType::kUInt2: return 2;
    default: return byte_size(type) * 8;
  }
}

int64_t file_bytes(DataType type, int64_t count) {
  const int bits = file_bits(type);
  return bits >= 8 ? count * (bits / 8) : (count / (8 / bits)) + (count % (8 / bits) != 0 ? 1 : 0);
}

std::string onnx_type_name(int64_t number) {
  return known(number) ? std::string(kTypes[number].name) : fmt::format("type {}", number);
}

std::string symbol_name(std::string_view parameter, std::string_view tensor, int axis) {
  std::string name(parameter.substr(0, 128));
  for (char& c : name)
    if (!is_letter_or_digit(c) && c != '_' && c != '.') c = '_';
  const bool negative_number =
      parameter.size() > 1 && parameter[0] == '-' && is_digit(parameter[1]);
  if (negative_number)
    return fmt::format("trt_dynamic_dim_{}_{}", symbol_name(tensor, "", 0), axis);
  if (name.empty() || is_digit(name[0])) name.insert(0, "s_");
  return name;
}

Result<TensorType> tensor_type_of(const ::onnx::TypeProto& type, std::string_view name,
                                  Graph& graph) {
  if (!type.has_tensor_type())
    return unsupported(
        "tensor \"{}\" is a sequence, optional, map or sparse tensor; only dense tensors are "
        "imported",
        clipped(name, 200));
  const auto& tensor = type.tensor_type();
  const std::optional<DataType> element = data_type_of(tensor.elem_type());
  if (!element)
    return unsupported("tensor \"{}\" has element type {}, which is not imported",
                       clipped(name, 200), onnx_type_name(tensor.elem_type()));
  if (!tensor.has_shape())
    return unsupported("tensor \"{}\" has no shape in the model; give it one (its rank at least)",
                       clipped(name, 200));
  if (tensor.shape().dim_size() > 64)
    return user_error("tensor \"{}\" has rank {}", clipped(name, 200), tensor.shape().dim_size());
  TensorType result{*element, {}};
  for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
    TENON_ASSIGN(Dim dim, dim_of(tensor.shape().dim(axis), name, axis, graph));
    result.shape.push_back(std::move(dim));
  }
  return result;
}

}  // namespace tenon::importer
