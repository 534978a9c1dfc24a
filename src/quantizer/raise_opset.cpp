// The spelling of operators that opsets behind 13 changed without another meaning. Operators whose new version says the
// same of old nodes are not listed.
#include <algorithm>
#include <vector>

#include "quantizer/onnx_model.h"

namespace tenon {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

constexpr int64_t kOldest = 13;

void drop_attribute(NodeProto& node, std::string_view name) {
  auto* all = node.mutable_attribute();
  for (int i = all->size() - 1; i >= 0; --i)
    if (all->Get(i).name() == name) all->DeleteSubrange(i, 1);
}

AttributeProto* mutable_attribute(NodeProto& node, std::string_view name) {
  for (AttributeProto& one : *node.mutable_attribute())
    if (one.name() == name) return &one;
  return nullptr;
}

/// A constant of whole numbers; a vector, or a single one.
void give_integers(GraphProto& graph, NodeProto& node, int place, const char* suffix,
                   const std::vector<int64_t>& values, bool single) {
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(node.output(0) + suffix);
  tensor.set_data_type(::onnx::TensorProto::INT64);
  if (!single) tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  while (node.input_size() <= place) node.add_input("");
  node.set_input(place, tensor.name());
}

/// Axes became an operand.
Status axes_by_operand(GraphProto& graph, NodeProto& node) {
  const AttributeProto* axes = attribute(node, "axes");
  if (axes == nullptr) return {};
  give_integers(graph, node, 1, "_axes", {axes->ints().begin(), axes->ints().end()}, false);
  drop_attribute(node, "axes");
  return {};
}

/// The number of equal parts became an attribute.
Status count_of_parts(GraphProto& /*graph*/, NodeProto& node) {
  if (node.input_size() > 1 && !node.input(1).empty()) return {};
  AttributeProto& outputs = *node.add_attribute();
  outputs.set_name("num_outputs");
  outputs.set_type(AttributeProto::INT);
  outputs.set_i(node.output_size());
  return {};
}

/// `bilinear` became `linear`, and `bicubic` `cubic`, since inputs may have three axes.
Status modes_of_any_rank(GraphProto& /*graph*/, NodeProto& node) {
  AttributeProto* mode = mutable_attribute(node, "mode");
  if (mode != nullptr && mode->s().starts_with("bi")) mode->set_s(mode->s().substr(2));
  return {};
}

/// The axis became an operand, and counts from the end where there is none.
Status axis_by_operand(GraphProto& graph, NodeProto& node) {
  const AttributeProto* axis = attribute(node, "axis");
  give_integers(graph, node, 2, "_axis", {axis == nullptr ? 1 : axis->i()}, true);
  drop_attribute(node, "axis");
  return {};
}

/// Scales became those of channels.
Status refuse(GraphProto& /*graph*/, NodeProto& node) {
  return unsupported(
      "'{}': {} has another form in the opset that this mode needs; convert the model first "
      "(onnx.version_converter)",
      node.name(), node.op_type());
}

struct Respelling {
  std::vector<std::string_view> operators;
  int64_t since;
  Status (*change)(GraphProto& graph, NodeProto& node);
};

const std::vector<Respelling>& respellings() {
  static const std::vector<Respelling> all{
      {{"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSumSquare"},
       18,
       axes_by_operand},
      {{"Split"}, 18, count_of_parts},
      {{"GridSample"}, 20, modes_of_any_rank},
      {{"DFT"}, 20, axis_by_operand},
      {{"GroupNormalization"}, 21, refuse}};
  return all;
}

Status respell(GraphProto& graph, int64_t from, int64_t to) {
  for (int i = 0; i < graph.node_size(); ++i) {
    NodeProto& node = *graph.mutable_node(i);
    for (AttributeProto& one : *node.mutable_attribute()) {
      if (one.has_g()) TENON_TRY(respell(*one.mutable_g(), from, to));
      for (GraphProto& body : *one.mutable_graphs()) TENON_TRY(respell(body, from, to));
    }
    if (!is_main_domain(node.domain())) continue;
    for (const Respelling& one : respellings())
      if (from < one.since && one.since <= to && std::ranges::count(one.operators, node.op_type()))
        TENON_TRY(one.change(graph, node));
  }
  return {};
}

}  // namespace

Status OnnxModel::raise_opset(int64_t version) {
  const int64_t now = opset();
  if (now >= version) return {};
  if (now < kOldest)
    return unsupported(
        "the model has opset {}, and its quantized form needs {}: convert it first "
        "(onnx.version_converter)",
        now, version);
  TENON_TRY(respell(graph(), now, version));
  for (auto& import : *proto_->mutable_opset_import())
    if (is_main_domain(import.domain())) import.set_version(version);
  index_constants();
  return {};
}

}  // namespace tenon
