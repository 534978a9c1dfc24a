#pragma once

#include <memory>
#include <unordered_map>

#include "base/status.h"
#include "ir/tensor.h"
#include "onnx/external_data.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace tenon::importer {

/// Turns tensors of one model into ours, each once: large raw data and external data are shared,
/// not copied. Declared extents are checked against the bytes there are before anything is
/// allocated.
class TensorReader {
 public:
  /// `model` keeps the protobuf messages alive that tensors refer to.
  TensorReader(std::shared_ptr<const void> model, ExternalDataFolder& folder, bool double_as_float)
      : model_(std::move(model)), folder_(folder), double_as_float_(double_as_float) {}

  Result<Tensor> read(const ::onnx::TensorProto& proto);
  /// As a dense tensor.
  Result<Tensor> read(const ::onnx::SparseTensorProto& proto);

 private:
  Result<Tensor> read_uncached(const ::onnx::TensorProto& proto);
  Result<Tensor> from_bytes(const ::onnx::TensorProto& proto, DataType type, Extents extents);
  Result<Tensor> from_external(const ::onnx::TensorProto& proto, DataType type, Extents extents);

  std::shared_ptr<const void> model_;
  ExternalDataFolder& folder_;
  bool double_as_float_;
  std::unordered_map<const void*, Tensor> cache_;
};

/// Doubles as floats; values beyond their range become the largest.
Tensor clamped_to_float(const Tensor& tensor);

/// Extents with their product checked for overflow.
Result<int64_t> checked_count(const Extents& extents);

}  // namespace tenon::importer
