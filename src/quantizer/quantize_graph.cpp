#include "quantizer/quantize_graph.h"

#include <optional>

#include "ops/ops.h"
#include "ops/table.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "quantizer/graph_scales.h"
#include "quantizer/placement.h"

namespace tenon {
namespace {

/// The axis of the weights along which output channels lie; nothing for other operators.
std::optional<int64_t> channel_axis(const Node& node) {
  if (node.is<Conv>()) return 0;
  if (const auto* matmul = node.as<MatMul>()) return matmul->transpose_b ? 0 : 1;
  return std::nullopt;
}

/// Why no kernel computes the product in 8 bits, or nothing.
std::string refusal(const Node& node) {
  const Tensor* weights = node.input(1)->constant();
  if (weights == nullptr) return "the weights are not constant";
  if (weights->type() != DataType::kFloat32 || node.input(0)->type.type != DataType::kFloat32)
    return fmt::format("the weights are {}", name_of(weights->type()));
  if (node.input(0)->constant() != nullptr) return "all operands are constant";
  const auto* matmul = node.as<MatMul>();
  if (matmul != nullptr && (weights->rank() != 2 || matmul->transpose_a))
    return "the weights are not one matrix";
  if (matmul != nullptr && node.input(0)->type.shape.size() < 2) return "the operand is a vector";
  return {};
}

class Quantization {
 public:
  Quantization(Graph& graph, const std::map<std::string, float>& ranges,
               const std::function<std::string(const Node&)>& keeps)
      : graph_(graph), ranges_(ranges), keeps_(keeps) {}

  QuantizedGraph run() {
    const std::vector<Node*> nodes = nodes_of(graph_);
    for (Node* node : nodes) ops_.push_back(described(*node));
    std::vector<std::pair<Node*, int>> reads;
    for (const PlacedPair& pair : place_quantization(ops_))
      reads.emplace_back(nodes[static_cast<size_t>(pair.op)], slot(pair));
    for (const auto& [node, index] : reads)
      if (Value* value = pair_behind(node->input(index)); value != nullptr)
        node->set_input(index, value);
    return std::move(result_);
  }

 private:
  int number_of(const Value* value) {
    return numbers_.try_emplace(value, static_cast<int>(numbers_.size())).first->second;
  }

  PlacedOp described(Node& node) {
    PlacedOp op;
    slots_.emplace_back();
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      if (node.input(i) == nullptr || node.input(i)->constant() != nullptr) continue;
      op.inputs.push_back(number_of(node.input(i)));
      slots_.back().push_back(i);
    }
    for (const Value* output : node.outputs()) op.outputs.push_back(number_of(output));
    op.role = role_of(node, op);
    if (op.role == PlacedRole::kProduct) quantize_weights(node);
    return op;
  }

  int slot(const PlacedPair& pair) const {
    return slots_[static_cast<size_t>(pair.op)][static_cast<size_t>(pair.input)];
  }

  PlacedRole role_of(const Node& node, const PlacedOp& op) {
    if (channel_axis(node).has_value()) return product_role(node);
    const auto* pointwise = node.as<Pointwise>();
    if (pointwise == nullptr || node.output()->type.type != DataType::kFloat32)
      return PlacedRole::kOther;
    if (op.inputs.size() == 1) return PlacedRole::kPointwise;
    if (pointwise->function == PointwiseFunction::k_mul) return PlacedRole::kPointwise;
    const bool is_sum = pointwise->function == PointwiseFunction::k_add && op.inputs.size() == 2 &&
                        node.input(0)->type.shape == node.input(1)->type.shape;
    return is_sum && keeps_(node).empty() ? PlacedRole::kSum : PlacedRole::kOther;
  }

  PlacedRole product_role(const Node& node) {
    std::string reason = keeps_(node);
    if (reason.empty()) reason = refusal(node);
    if (reason.empty() && !ranges_.contains(node.input(0)->name))
      reason = fmt::format("there is no range for its input '{}'", node.input(0)->name);
    if (!reason.empty()) {
      result_.others.push_back({node.name, reason});
      return PlacedRole::kOther;
    }
    result_.layers.push_back(node.name);
    return PlacedRole::kProduct;
  }

  Value* add_dequantize(Value* bytes, Value* scale, int64_t axis, const std::string& name) {
    auto op = std::make_unique<Dequantize>();
    op->axis = axis;
    Node* node = graph_.add_node(std::move(op), {bytes, scale}, 1, name);
    node->output()->type = {DataType::kFloat32, bytes->type.shape};
    return node->output();
  }

  Value* add_quantize(Value* value, Value* scale, int64_t axis, const std::string& name) {
    auto op = std::make_unique<Quantize>();
    op->axis = axis;
    op->to = DataType::kInt8;
    Node* node = graph_.add_node(std::move(op), {value, scale}, 1, name);
    node->output()->type = {DataType::kInt8, value->type.shape};
    return node->output();
  }

  Value* constant(Tensor tensor) {
    const TensorType type{tensor.type(), to_shape(tensor.extents())};
    Value* value = graph_.add_constant(std::move(tensor));
    value->type = type;
    return value;
  }

  /// One scale for each output channel.
  void quantize_weights(Node& node) {
    const int64_t axis = *channel_axis(node);
    Value* scale = constant(channel_scales(*node.input(1)->constant(), axis));
    Value* bytes = add_quantize(node.input(1), scale, axis, node.name + ".weights_quantize");
    node.set_input(1, add_dequantize(bytes, scale, axis, node.name + ".weights_dequantize"));
  }

  /// The value, rounded; one pair for all that read it. Null where its range is not known.
  Value* pair_behind(Value* value) {
    if (const auto found = pairs_.find(value); found != pairs_.end()) return found->second;
    const auto range = ranges_.find(value->name);
    if (range == ranges_.end()) return nullptr;
    Value* number = constant(Tensor::scalar_f32(scale_of_range(range->second)));
    Value* bytes = add_quantize(value, number, 1, value->name + ".quantize");
    Value* rounded = add_dequantize(bytes, number, 1, value->name + ".dequantize");
    pairs_.emplace(value, rounded);
    return rounded;
  }

  Graph& graph_;
  const std::map<std::string, float>& ranges_;
  const std::function<std::string(const Node&)>& keeps_;
  std::vector<PlacedOp> ops_;
  std::vector<std::vector<int>> slots_;  ///< Of each operator's computed operands.
  std::map<const Value*, int> numbers_;
  std::map<const Value*, Value*> pairs_;
  QuantizedGraph result_;
};

}  // namespace

Result<QuantizedGraph> quantize_graph(Graph& graph, const std::map<std::string, float>& ranges,
                                      const std::function<std::string(const Node&)>& keeps,
                                      bool keep_weights) {
  PassOptions options;
  NullLogger quiet;
  PassContext context(options, quiet);
  TENON_TRY(run_pass(graph, *find_pass("fold_constants"), context));
  for (const char* pass : {"simplify", "fold_into_weights", "fold_constants"})
    if (!keep_weights) TENON_TRY(run_pass(graph, *find_pass(pass), context));
  QuantizedGraph result = Quantization(graph, ranges, keeps).run();
  graph.remove_dead();
  TENON_TRY(graph.sort());
  TENON_TRY(infer_graph(graph));
  return result;
}

}  // namespace tenon
