#include "onnx/export_types.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "ops/ops.h"

namespace tenon::importer {
namespace {

struct LaterOpset {
  std::string_view type;
  int64_t opset;
};

/// By ONNX's own schemas; tests/command_line/optimize_test.py compares them.
constexpr LaterOpset kBrain[] = {
    {"Acos", 22},
    {"Acosh", 22},
    {"Asin", 22},
    {"Asinh", 22},
    {"Atan", 22},
    {"Atanh", 22},
    {"AveragePool", 22},
    {"Bernoulli", 22},
    {"Conv", 22},
    {"ConvTranspose", 22},
    {"Cos", 22},
    {"Cosh", 22},
    {"DeformConv", 22},
    {"Det", 22},
    {"Elu", 22},
    {"EyeLike", 22},
    {"GRU", 22},
    {"GlobalAveragePool", 22},
    {"GlobalLpPool", 22},
    {"GlobalMaxPool", 22},
    {"GridSample", 22},
    {"HardSigmoid", 22},
    {"HardSwish", 22},
    {"InstanceNormalization", 22},
    {"LSTM", 22},
    {"LpNormalization", 22},
    {"LpPool", 22},
    {"MaxPool", 22},
    {"MaxRoiPool", 22},
    {"MaxUnpool", 22},
    {"Mish", 22},
    {"Multinomial", 22},
    {"NegativeLogLikelihoodLoss", 22},
    {"RNN", 22},
    {"RandomNormal", 22},
    {"RandomNormalLike", 22},
    {"RandomUniform", 22},
    {"RandomUniformLike", 22},
    {"RoiAlign", 22},
    {"Round", 22},
    {"Selu", 22},
    {"Sin", 22},
    {"Sinh", 22},
    {"Softplus", 22},
    {"Softsign", 22},
    {"Tan", 22},
    {"ThresholdedRelu", 22},
    {"TopK", 24},
    {"Range", 27},
    {"Celu", 28},
    {"Compress", 28},
    {"Einsum", 28},
    {"OneHot", 28},
    {"ReverseSequence", 28},
    {"Unique", 28},
};

/// The type that holds the same numbers and that all operators take; nothing for such types.
std::optional<DataType> wider(DataType type) {
  switch (type) {
    case DataType::kFloat8E4M3:
    case DataType::kFloat8E4M3Fnuz:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2Fnuz:
    case DataType::kFloat8E8M0:
    case DataType::kFloat4E2M1: return DataType::kFloat32;
    case DataType::kInt4:
    case DataType::kInt2: return DataType::kInt8;
    case DataType::kUInt4:
    case DataType::kUInt2: return DataType::kUInt8;
    default: return std::nullopt;
  }
}

/// Whether ONNX has the operator for these types, or the node is none of its own.
bool is_at_home(const Node& node) {
  return node.op->constant_value() != nullptr || node.is<Identity>() || node.is<Reformat>() ||
         node.is<Cast>() || node.is<BitCast>() || node.is<Quantize>() || node.is<Dequantize>() ||
         node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() || node.is<Unsqueeze>() ||
         node.is<Transpose>() || node.is<Pad>() || node.is<ShapeOf>() || node.is<SizeOf>() ||
         node.is<TensorScatter>() || !node.bodies.empty();
}

class Casts {
 public:
  explicit Casts(Graph& graph) : graph_(graph) {}

  bool run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    bool changed = false;
    for (Node* node : nodes) {
      for (const auto& body : node->bodies) changed |= Casts(*body).run();
      if (!is_at_home(*node)) changed |= cast_around(*node);
    }
    return changed;
  }

 private:
  bool cast_around(Node& node) {
    bool changed = false;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      Value* value = node.input(i);
      const auto wide = value == nullptr ? std::nullopt : wider(value->type.type);
      if (!wide.has_value()) continue;
      Value*& cast = wide_[value];
      if (cast == nullptr) cast = add_cast(value, *wide, node);
      node.set_input(i, cast);
      changed = true;
    }
    for (Value* output : node.outputs()) {
      const DataType small = output->type.type;
      const auto wide = wider(small);
      if (!wide.has_value()) continue;
      const bool is_used = !output->uses().empty() || graph_.is_output(output);
      output->type.type = *wide;
      changed = true;
      if (!is_used) continue;
      Value* narrow = add_cast(output, small, node);
      graph_.replace_uses(output, narrow);
      narrow->producer()->set_input(0, output);
      narrow->name = std::exchange(output->name, {});
    }
    return changed;
  }

  Value* add_cast(Value* value, DataType type, const Node& origin) {
    Node* node = graph_.add_node(std::make_unique<Cast>(type), {value}, 1, origin.name + ".cast");
    node->output()->type = {type, value->type.shape};
    node->origins = origin.origins;
    return node->output();
  }

  Graph& graph_;
  std::map<const Value*, Value*> wide_;
};

Status sorted(Graph& graph) {
  for (const auto& node : graph.nodes())
    for (const auto& body : node->bodies) TENON_TRY(sorted(*body));
  return graph.sort();
}

}  // namespace

int64_t opset_for_brain(std::string_view type) {
  const auto* const found = std::ranges::find(kBrain, type, &LaterOpset::type);
  return found == std::end(kBrain) ? 0 : found->opset;
}

int64_t opset_of(DataType type) {
  if (type == DataType::kFloat4E2M1) return 23;
  if (type == DataType::kInt2 || type == DataType::kUInt2) return 25;
  return type == DataType::kFloat8E8M0 ? 24 : 0;
}

Result<bool> cast_around_moves(Graph& graph) {
  const bool changed = Casts(graph).run();
  if (changed) TENON_TRY(sorted(graph));
  return changed;
}

}  // namespace tenon::importer
