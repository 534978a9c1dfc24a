#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/data_type.h"
#include "ir/graph.h"

namespace onnx {
class TypeProto;
}

namespace tenon::importer {

/// Our element type for a number of onnx.TensorProto.DataType; nothing for strings, complex
/// numbers and unknown numbers.
std::optional<DataType> data_type_of(int64_t onnx_number);
/// Bits that an element takes in a model's bytes, where types narrower than a byte are packed.
int file_bits(DataType type);
/// Bytes of so many elements there.
int64_t file_bytes(DataType type, int64_t count);
/// As ONNX calls it, e.g. "FLOAT16".
std::string onnx_type_name(int64_t onnx_number);

/// A model's dim_param as a symbol of ours: other characters than letters, digits, '_' and '.' are
/// replaced.
std::string symbol_name(std::string_view parameter, std::string_view tensor, int axis);

/// Type of a graph input. Named extents become symbols of `graph`, unnamed ones fresh symbols.
Result<TensorType> tensor_type_of(const ::onnx::TypeProto& type, std::string_view name,
                                  Graph& graph);

}  // namespace tenon::importer
