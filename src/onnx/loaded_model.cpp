#include "onnx/loaded_model.h"

#include <algorithm>
#include <cstring>

#include "onnx/model_file.h"
#include "onnx/tensor_reader.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

Result<Tensor> tensor_over(const ::onnx::TensorProto& proto, const void* data, size_t size) {
  const std::optional<DataType> type = data_type_of(proto.data_type());
  Extents extents(proto.dims().begin(), proto.dims().end());
  if (!type || !std::all_of(extents.begin(), extents.end(), [](int64_t n) { return n >= 0; }))
    return user_error("initializer \"{}\" has no valid type", proto.name());
  // Compared before allocating, so that absurd extents cannot ask for absurd memory.
  double bytes = byte_size(*type);
  for (int64_t extent : extents) bytes *= static_cast<double>(extent);
  if (bytes != static_cast<double>(size))
    return user_error("initializer \"{}\" takes {} bytes, but {} were given", proto.name(), bytes,
                      size);
  TENON_ASSIGN(Tensor value, Tensor::create(*type, std::move(extents)));
  if (size > 0) std::memcpy(value.mutable_bytes(), data, size);
  return *type == DataType::kFloat64 ? clamped_to_float(value) : value;
}

}  // namespace

std::string folder_of(const char* path) {
  const std::string text = path == nullptr ? "" : path;
  const size_t slash = text.rfind('/');
  return slash == std::string::npos ? std::string() : text.substr(0, slash + 1);
}

Status LoadedModel::load(const void* model, size_t size, const char* path) {
  bytes_.clear();
  values_.clear();
  if (model == nullptr) return user_error("the model is null");
  const auto* bytes = static_cast<const std::byte*>(model);
  TENON_TRY(parse_model({bytes, size}));
  bytes_.assign(bytes, bytes + size);
  path_ = path == nullptr ? "" : path;
  return {};
}

Status LoadedModel::set(const char* name, const void* data, size_t size) {
  if (bytes_.empty() || name == nullptr || data == nullptr)
    return user_error("loadInitializer needs a loaded model, a name and data");
  TENON_ASSIGN(const auto proto, parse_model(bytes_));
  for (const auto& tensor : proto->graph().initializer()) {
    if (tensor.name() != name) continue;
    TENON_ASSIGN(values_[name], tensor_over(tensor, data, size));
    return {};
  }
  return user_error("the model has no initializer \"{}\"", name);
}

ImportRequest LoadedModel::request() const {
  ImportRequest request;
  request.bytes = bytes_;
  request.directory = folder_of(path_.c_str());
  request.options.values = values_;
  return request;
}

}  // namespace tenon::importer
