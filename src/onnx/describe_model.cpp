#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/mapped_file.h"
#include "network/report.h"
#include "onnx/model_check.h"
#include "onnx/model_file.h"
#include "onnx/op_table.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"
#include "surface/implementation.h"
#include "tenon/inspect.h"

namespace tenon::importer {
namespace {

using Json = nlohmann::ordered_json;

/// Text in host memory, for the application to delete.
class TextMemory final : public surface::Implementation<nvinfer1::IHostMemory> {
 public:
  explicit TextMemory(std::string text) : text_(std::move(text)) {}
  void* data() const noexcept override { return const_cast<char*>(text_.data()); }
  std::size_t size() const noexcept override { return text_.size(); }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::string text_;
};

std::string shape_text(const ::onnx::TensorShapeProto& shape) {
  std::string text;
  for (const auto& dim : shape.dim()) {
    if (!text.empty()) text += ",";
    text += dim.has_dim_value()       ? fmt::format("{}", dim.dim_value())
            : dim.dim_param().empty() ? "?"
                                      : dim.dim_param();
  }
  return "[" + text + "]";
}

Json border(const ::onnx::ValueInfoProto& value) {
  Json json = {{"name", value.name()}};
  const auto& type = value.type();
  json["type"] = type.has_tensor_type() ? onnx_type_name(type.tensor_type().elem_type())
                                        : std::string("no tensor");
  const bool known = type.has_tensor_type() && type.tensor_type().has_shape();
  json["shape"] = known ? shape_text(type.tensor_type().shape()) : std::string("unknown");
  return json;
}

int64_t elements_of(const ::onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.dims()) count *= extent;
  return count;
}

/// Of external data the length, else the message's own bytes.
int64_t bytes_of(const ::onnx::TensorProto& tensor) {
  for (const auto& entry : tensor.external_data())
    if (int64_t length = 0; entry.key() == "length") {
      std::from_chars(entry.value().data(), entry.value().data() + entry.value().size(), length);
      return length;
    }
  if (tensor.has_raw_data()) return static_cast<int64_t>(tensor.raw_data().size());
  return static_cast<int64_t>(tensor.ByteSizeLong());
}

/// Sums over a model's graph, the graphs in it and its functions.
class Census {
 public:
  void add(const ::onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) add_weights(tensor);
    for (const auto& node : graph.node()) add(node);
  }
  void add(const ::onnx::NodeProto& node) {
    ++operators_[node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type()];
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t() && node.op_type() == "Constant") add_weights(attribute.t());
      if (attribute.has_g()) add(attribute.g());
      for (const auto& graph : attribute.graphs()) add(graph);
    }
  }
  Json operators() const { return operators_; }
  Json weights() const { return weights_; }

 private:
  void add_weights(const ::onnx::TensorProto& tensor) {
    Json& entry = weights_[onnx_type_name(tensor.data_type())];
    if (entry.is_null()) entry = {{"tensors", 0}, {"elements", 0}, {"bytes", 0}};
    entry["tensors"] = entry["tensors"].get<int64_t>() + 1;
    entry["elements"] = entry["elements"].get<int64_t>() + elements_of(tensor);
    entry["bytes"] = entry["bytes"].get<int64_t>() + bytes_of(tensor);
  }

  std::map<std::string, int64_t> operators_;
  Json weights_ = Json::object();
};

/// Inputs that are initializers too have contents already.
bool is_given(const ::onnx::GraphProto& graph, const std::string& name) {
  return std::ranges::any_of(graph.initializer(),
                             [&](const auto& tensor) { return tensor.name() == name; });
}

Json node_json(const ::onnx::NodeProto& node) {
  const std::string name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return {{"name", name},
          {"operator", node.op_type()},
          {"domain", node.domain()},
          {"inputs", std::vector<std::string>(node.input().begin(), node.input().end())},
          {"outputs", std::vector<std::string>(node.output().begin(), node.output().end())}};
}

Json describe(const ::onnx::ModelProto& model) {
  Json json = {{"kind", "model"},
               {"producer", model.producer_name()},
               {"producer_version", model.producer_version()},
               {"ir_version", model.ir_version()},
               {"graph", model.graph().name()}};
  json["opsets"] = Json::object();
  for (const auto& [domain, version] : opsets_of(model))
    json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  for (const auto& input : model.graph().input())
    if (!is_given(model.graph(), input.name())) json["inputs"].push_back(border(input));
  for (const auto& output : model.graph().output()) json["outputs"].push_back(border(output));
  Census census;
  census.add(model.graph());
  for (const auto& function : model.functions()) {
    json["functions"].push_back(function.domain() + "." + function.name());
    for (const auto& node : function.node()) census.add(node);
  }
  json["operators"] = census.operators();
  json["weights"] = census.weights();
  for (const auto& node : model.graph().node()) json["nodes"].push_back(node_json(node));
  return json;
}

}  // namespace
}  // namespace tenon::importer

namespace tenon {

TENSORRTAPI nvinfer1::IHostMemory* describeModel(const char* path,
                                                 nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded("describeModel", nullptr, [&]() -> nvinfer1::IHostMemory* {
    const auto model = [&]() -> Result<std::shared_ptr<::onnx::ModelProto>> {
      TENON_ASSIGN(const MappedBytes file, map_file(path == nullptr ? "" : path));
      return importer::parse_model(file.bytes());
    }();
    if (model.ok()) {
      constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
      return new importer::TextMemory(importer::describe(**model).dump(1, ' ', false, kReplace));
    }
    reporter.report(model.error());
    return nullptr;
  });
}

}  // namespace tenon
