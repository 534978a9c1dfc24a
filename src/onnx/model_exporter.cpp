#include "onnx/model_exporter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/version.h"
#include "onnx/graph_writer.h"
#include "onnx/tensor_writer.h"

namespace tenon::importer {
namespace {

/// The opset of exported models, unless an operator needs a later one.
constexpr int64_t kUsualOpset = 21;
/// A message of protobuf ends at 2 GiB.
constexpr size_t kMostBytesInside = size_t{1} << 30;
constexpr size_t kSmallTensor = 1024, kPage = 4096;

/// The version of the format that came with the opset.
int64_t ir_version_of(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kLast[] = {{21, 10}, {23, 11}, {24, 12}, {27, 13}};
  for (const auto& [last, version] : kLast)
    if (opset <= last) return version;
  return 14;
}

void name_opset(::onnx::OperatorSetIdProto& entry, std::string_view domain, int64_t version) {
  entry.set_domain(std::string(domain));
  entry.set_version(version);
}

void finish(ModelWriter& writer) {
  ::onnx::ModelProto& model = writer.model;
  const int64_t opset = std::max(kUsualOpset, writer.opset);
  model.set_ir_version(ir_version_of(opset));
  model.set_producer_name("tenon");
  model.set_producer_version(
      fmt::format("{}.{}.{}.{}", kApiMajor, kApiMinor, kApiPatch, kApiBuild));
  name_opset(*model.add_opset_import(), "", opset);
  if (model.functions_size() > 0) name_opset(*model.add_opset_import(), "tenon", 1);
  for (auto& function : *model.mutable_functions()) {
    name_opset(*function.add_opset_import(), "", opset);
    name_opset(*function.add_opset_import(), "tenon", 1);
  }
}

/// Outputs keep their names, also where they are inputs or constants.
void write_outputs(GraphWriter& writer, const Graph& graph, ::onnx::GraphProto& proto) {
  for (const Value* output : graph.outputs()) {
    const std::string now = writer.name_of(output);
    if (now != output->name) writer.add("Identity", {now}, {output->name});
    write_value_info(output->name, output->type, *proto.add_output());
  }
}

void write_graph(const Graph& graph, ModelWriter& model) {
  ::onnx::GraphProto& proto = *model.model.mutable_graph();
  proto.set_name(graph.name.empty() ? "optimized" : graph.name);
  GraphWriter writer(model, proto);
  for (const Value* input : graph.inputs())
    write_value_info(writer.declare(input), input->type, *proto.add_input());
  // Constants that are outputs at once get a copy; all else is born with its name.
  for (const Value* output : graph.outputs())
    if (output->constant() != nullptr)
      model.tensors.insert(output->name);
    else
      writer.reserve(output);
  writer.write_nodes(graph);
  write_outputs(writer, graph, proto);
}

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

Status export_model(const Graph& graph, const std::string& path) {
  ::onnx::ModelProto model;
  ModelWriter writer{.model = model};
  write_graph(graph, writer);
  if (!writer.problems.empty())
    return unsupported("the optimized graph has nodes without a form in ONNX:\n  {}",
                       fmt::join(writer.problems, "\n  "));
  finish(writer);
  if (model.ByteSizeLong() > kMostBytesInside) TENON_TRY(move_weights(model, path));
  std::ofstream file(path, std::ios::binary);
  if (!file || !model.SerializeToOstream(&file) || !file.flush())
    return resource_error("cannot write '{}'", path);
  return {};
}

}  // namespace tenon::importer
