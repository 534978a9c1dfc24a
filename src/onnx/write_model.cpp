#include "onnx/write_model.h"

#include <fmt/format.h>

#include <optional>

#include "base/draft_file.h"
#include "base/stop.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

/// A message of protobuf ends at 2 GiB.
constexpr size_t kMostBytesInside = size_t{1} << 30;
constexpr size_t kSmallTensor = 1024, kPage = 4096;

/// Moves large contents to a file beside the model, `beside`.
void move_weights(::onnx::ModelProto& model, const std::string& beside, std::ostream& file) {
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
}

}  // namespace

Status write_model(::onnx::ModelProto& model, const std::string& path, WeightPlace place) {
  const std::string beside = path + ".data";
  std::optional<DraftFile> weights;
  if (place == WeightPlace::kBeside || model.ByteSizeLong() > kMostBytesInside)
    move_weights(model, beside, weights.emplace(beside).stream());
  DraftFile file(path);
  if (!model.SerializeToOstream(&file.stream())) file.stream().setstate(std::ios::badbit);
  TENON_TRY(go_on(fmt::format("writing '{}'", path)));
  if (weights && file.stream().flush()) TENON_TRY(weights->keep());
  return file.keep();
}

}  // namespace tenon::importer
