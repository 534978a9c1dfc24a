#include "onnx/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

/// A graph in a graph costs three levels of messages; ours refuses them earlier, with its own
/// words.
constexpr int kMessageDepth = 320;

}  // namespace

Result<std::shared_ptr<::onnx::ModelProto>> parse_model(std::span<const std::byte> bytes) {
  if (bytes.empty()) return user_error("the model is empty (0 bytes)");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return user_error(
        "the model has {} bytes; protobuf reads at most 2 GiB: store its weights as external data",
        bytes.size());
  auto proto = std::make_shared<::onnx::ModelProto>();
  ::google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  ::google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kMessageDepth);
  if (!proto->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return user_error(
        "not an ONNX model: the {} bytes are no ModelProto; the file may be cut short or damaged",
        bytes.size());
  return proto;
}

}  // namespace tenon::importer
