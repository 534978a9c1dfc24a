#pragma once

#include "ir/data_type.h"
#include "ir/graph.h"

namespace onnx {
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace tenon::importer {

/// The number of onnx.TensorProto.DataType for an element type of ours.
int onnx_number_of(DataType type);

/// Bytes that a tensor takes in a file, where types narrower than a byte are packed.
int64_t bytes_in_file(const Tensor& tensor);

/// Fills `proto` (whose name stays) with a copy of the tensor.
void write_tensor(const Tensor& tensor, ::onnx::TensorProto& proto);

/// Fills `proto` with the name, and the value's type and extents; symbolic ones by their text.
void write_value_info(const std::string& name, const TensorType& type,
                      ::onnx::ValueInfoProto& proto);

}  // namespace tenon::importer
