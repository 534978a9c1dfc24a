#include "onnx/tensor_writer.h"

#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

/// Lowest bits first.
std::string packed_bytes(const Tensor& tensor) {
  const int bits = file_bits(tensor.type()), a_byte = 8 / bits;
  std::string bytes(static_cast<size_t>(bytes_in_file(tensor)), '\0');
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int value = std::to_integer<int>(tensor.bytes()[i]) & ((1 << bits) - 1);
    char& byte = bytes[static_cast<size_t>(i / a_byte)];
    byte = static_cast<char>(byte | (value << (i % a_byte * bits)));
  }
  return bytes;
}

}  // namespace

int onnx_number_of(DataType type) {
  for (int number = 0; number < 64; ++number)
    if (data_type_of(number) == type) return number;
  return 0;
}

int64_t bytes_in_file(const Tensor& tensor) {
  return file_bytes(tensor.type(), tensor.count());
}

void write_tensor(const Tensor& tensor, ::onnx::TensorProto& proto) {
  proto.set_data_type(onnx_number_of(tensor.type()));
  for (const int64_t extent : tensor.extents()) proto.add_dims(extent);
  if (file_bits(tensor.type()) < 8)
    proto.set_raw_data(packed_bytes(tensor));
  else
    proto.set_raw_data(tensor.bytes(), static_cast<size_t>(tensor.byte_count()));
}

void write_value_info(const std::string& name, const TensorType& type,
                      ::onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  auto& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_number_of(type.type));
  auto& shape = *tensor.mutable_shape();
  for (const Dim& extent : type.shape)
    if (extent.is_constant())
      shape.add_dim()->set_dim_value(extent.constant());
    else
      shape.add_dim()->set_dim_param(extent.to_string());
}

}  // namespace tenon::importer
