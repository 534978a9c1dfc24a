#include "onnx/model_exporter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "onnx/export_types.h"
#include "onnx/graph_writer.h"
#include "onnx/tensor_writer.h"
#include "onnx/write_model.h"

namespace tenon::importer {
namespace {

/// The opset of exported models, unless an operator needs a later one.
constexpr int64_t kUsualOpset = 21;

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

}  // namespace

Status export_model(const Graph& graph, const std::string& path) {
  ::onnx::ModelProto model;
  ModelWriter writer{.model = model};
  const std::unique_ptr<Graph> written = graph.clone();
  TENON_TRY(cast_around_moves(*written));
  write_graph(*written, writer);
  if (!writer.problems.empty())
    return unsupported("the optimized graph has nodes without a form in ONNX:\n  {}",
                       fmt::join(writer.problems, "\n  "));
  finish(writer);
  return write_model(model, path, WeightPlace::kWhereThereIsRoom);
}

}  // namespace tenon::importer
