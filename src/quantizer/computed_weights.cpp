// Weights that the model makes of constants, as exporters leave them: casts of numbers stored in 16
// bits, transposes, copies under another name, scaled ones. Computed by our own importer, as builds
// do.
#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/table.h"
#include "quantizer/onnx_model.h"

namespace tenon {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// Whether its results follow from its operands; quantized weights are none that may be quantized.
bool is_plain(const NodeProto& node) {
  constexpr std::array kOthers = {"QuantizeLinear",   "DequantizeLinear",  "DynamicQuantizeLinear",
                                  "RandomNormalLike", "RandomUniformLike", "Bernoulli",
                                  "Multinomial"};
  return is_main_domain(node.domain()) && node.input_size() > 0 &&
         std::ranges::find(kOthers, node.op_type()) == kOthers.end() &&
         std::ranges::none_of(node.attribute(), [](const AttributeProto& one) {
           return one.has_g() || one.graphs_size() > 0;
         });
}

/// The nodes and initializers that `wanted` follow from, as a model of their own.
std::shared_ptr<ModelProto> part_of(const ModelProto& model,
                                    const std::vector<std::string>& wanted) {
  auto part = std::make_shared<ModelProto>();
  part->set_ir_version(model.ir_version());
  *part->mutable_opset_import() = model.opset_import();
  GraphProto& graph = *part->mutable_graph();
  graph.set_name("weights");
  std::unordered_set<std::string> needed(wanted.begin(), wanted.end());
  std::vector<const NodeProto*> nodes;
  for (int i = model.graph().node_size() - 1; i >= 0; --i) {
    const NodeProto& node = model.graph().node(i);
    if (std::ranges::none_of(node.output(),
                             [&](const auto& name) { return needed.contains(name); }))
      continue;
    needed.insert(node.input().begin(), node.input().end());
    nodes.push_back(&node);
  }
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) *graph.add_node() = **node;
  for (const TensorProto& tensor : model.graph().initializer())
    if (needed.contains(tensor.name())) *graph.add_initializer() = tensor;
  for (const std::string& name : wanted) graph.add_output()->set_name(name);
  return part;
}

Result<std::vector<Tensor>> computed(std::shared_ptr<ModelProto> part) {
  ImportRequest request;
  request.model = std::move(part);
  TENON_ASSIGN(const ImportedModel network, import_model(request));
  return evaluate_graph(*network.graph, {});
}

}  // namespace

bool has_weights(const NodeProto& node) {
  return node.domain().empty() && node.input_size() >= 2 &&
         (node.op_type() == "Conv" || node.op_type() == "MatMul" || node.op_type() == "Gemm");
}

/// Weights that cannot be computed are left to the nodes: layers say that they are not constant.
Status OnnxModel::compute_weights() {
  std::unordered_set<std::string> doubles;  // Which our importer would narrow.
  for (const auto& [name, tensor] : constants_)
    if (tensor->data_type() == TensorProto::DOUBLE) doubles.insert(name);
  const auto is_known = [&](const std::string& name) {
    return name.empty() || (is_constant(name) && !doubles.contains(name));
  };
  std::vector<std::string> weights;
  for (const NodeProto& node : graph().node()) {
    if (is_plain(node) && std::ranges::all_of(node.input(), is_known))
      derived_.insert(node.output().begin(), node.output().end());
    if (has_weights(node) && derived_.contains(node.input(1)) &&
        std::ranges::find(weights, node.input(1)) == weights.end())
      weights.push_back(node.input(1));
  }
  if (weights.empty()) return {};
  auto results = computed(part_of(*proto_, weights));
  if (!results.ok() || results->size() != weights.size()) {
    derived_.clear();
    return {};
  }
  for (size_t i = 0; i < weights.size(); ++i) computed_[weights[i]] = std::move((*results)[i]);
  return {};
}

}  // namespace tenon
