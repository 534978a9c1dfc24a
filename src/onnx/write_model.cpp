#include "onnx/write_model.h"

#include <fstream>

#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

/// A message of protobuf ends at 2 GiB.
constexpr size_t kMostBytesInside = size_t{1} << 30;
constexpr size_t kSmallTensor = 1024, kPage = 4096;

/// Moves large contents to a file beside the model.
Status move_weights(::onnx::ModelProto& model, const std::string& path) {
  const std::string beside = path + ".data";
  std::ofstream file(beside, std::ios::binary);
  uint64_t place = 0;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const std::string& raw = tensor.raw_data();
    if (raw.size() < kSmallTensor) continue;
    const uint64_t gap = (kPage - place % kPage) % kPage;
    file << std::string(gap, '\0');
    file.write(raw.data(), static_cast<std::streamsize>(raw.size()));
    const auto note = [&tensor](const char* key, const std::string& value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    note("location", beside.substr(beside.find_last_of('/') + 1));
    note("offset", std::to_string(place + gap));
    note("length", std::to_string(raw.size()));
    place += gap + raw.size();
    tensor.clear_raw_data();
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  }
  return file.flush() ? Status() : resource_error("cannot write '{}'", beside);
}

}  // namespace

Status write_model(::onnx::ModelProto& model, const std::string& path, WeightPlace place) {
  if (place == WeightPlace::kBeside || model.ByteSizeLong() > kMostBytesInside)
    TENON_TRY(move_weights(model, path));
  std::ofstream file(path, std::ios::binary);
  if (!file || !model.SerializeToOstream(&file) || !file.flush())
    return resource_error("cannot write '{}'", path);
  return {};
}

}  // namespace tenon::importer
