// Dequantization moves towards the end, behind operators that only move or choose elements: these
// then work on bytes, and it meets the operator that is computed in integers. Must run before
// cancel_quantize, after fold_constants.
#include <algorithm>
#include <memory>
#include <utility>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Moves or chooses elements of its first operand; the others are positions and extents.
bool moves_elements(const Node& node) {
  return is_reshape(&node) || node.is<Slice>() || node.is<Gather>() || node.is<Expand>() ||
         node.is<Tile>() || node.is<DepthToSpace>() || node.is<SpaceToDepth>() ||
         node.is<Transpose>();
}

bool is_max_pool(const Node& node) {
  const auto* pool = node.as<Pool>();
  return pool != nullptr && pool->function == PoolFunction::kMax && node.outputs().size() == 1;
}

/// Dequantize with one known scale, of bytes that are computed.
Node* moving_source(const Value* value) {
  if (produced_by<Dequantize>(value) == nullptr) return nullptr;
  Node* node = value->producer();
  return is_per_tensor(*node) && is_byte(quantized_type(*node)) ? node : nullptr;
}

bool gives_integers(const Node& dequantize) {
  return is_byte_integer(quantized_type(dequantize));
}

/// A Dequantize like `source`, of the output that `node` has when it works on bytes.
void dequantize_behind(Graph& graph, Node& node, const Node& source) {
  Value* output = node.output();
  std::vector<Value*> inputs = {nullptr};
  for (size_t i = 1; i < source.inputs().size(); ++i) inputs.push_back(source.inputs()[i]);
  Node* after = graph.add_node(source.op->clone(), std::move(inputs), 1, source.name);
  after->origins = source.origins;
  after->output()->type = output->type;
  after->output()->name = output->name;
  graph.replace_uses(output, after->output());
  output->name.clear();
  output->type.type = quantized_type(source);
  after->set_input(0, output);
}

bool sink_behind(Graph& graph, Node& node) {
  if (!moves_elements(node) && !is_max_pool(node)) return false;
  Node* source = moving_source(node.input(0));
  if (source == nullptr || (is_max_pool(node) && !gives_integers(*source))) return false;
  Value* bytes = source->input(0);
  node.set_input(0, bytes);
  dequantize_behind(graph, node, *source);
  return true;
}

/// The Dequantize of constant weights whose scales a transpose moves: one for each slice of an
/// axis, or one for each block.
Node* scaled_weights(const Value* value, const PassOptions& options) {
  Node* source = constant_bytes(value, options);
  if (source == nullptr) source = small_weights(value);
  return source != nullptr && !is_per_tensor(*source) ? source : nullptr;
}

bool sink_behind_transpose(Graph& graph, Node& node, const PassOptions& options) {
  const auto* transpose = node.as<Transpose>();
  if (transpose == nullptr || transpose->permutation.empty()) return false;
  Node* source = scaled_weights(node.input(0), options);
  if (source == nullptr) return false;
  const auto& permutation = transpose->permutation;
  const auto rank = static_cast<int64_t>(permutation.size());
  const int64_t axis = (source->as<Dequantize>()->axis + rank) % rank;
  node.set_input(0, source->input(0));
  dequantize_behind(graph, node, *source);
  Node& after = *node.output()->uses()[0].node;
  after.as<Dequantize>()->axis =
      std::find(permutation.begin(), permutation.end(), axis) - permutation.begin();
  if (source->as<Dequantize>()->block_size == 0) return true;
  for (int i = 1; i < static_cast<int>(after.inputs().size()); ++i)
    if (after.has_input(i))
      after.set_input(i, add_op(graph, node.op->clone(), {after.input(i)}, *source));
  return true;
}

/// All operands of a concatenation have one scale.
bool sink_behind_concat(Graph& graph, Node& node) {
  if (!node.is<Concat>()) return false;
  std::vector<Value*> bytes;
  Node* source = moving_source(node.input(0));
  for (Value* input : node.inputs()) {
    Node* other = moving_source(input);
    if (other == nullptr || !same_scaling(*source, *other)) return false;
    bytes.push_back(other->input(0));
  }
  for (size_t i = 0; i < bytes.size(); ++i) node.set_input(static_cast<int>(i), bytes[i]);
  dequantize_behind(graph, node, *source);
  return true;
}

/// Zeros around a tensor become zero points.
bool sink_behind_pad(Graph& graph, Node& node) {
  const auto* pad = node.as<Pad>();
  if (pad == nullptr) return false;
  Node* source = moving_source(node.input(0));
  if (source == nullptr || !gives_integers(*source)) return false;
  if (pad->fill == PadFill::kConstant) {
    if (node.has_input(2) && scalar_of(node.input(2)) != 0) return false;
    Tensor zero(quantized_type(*source), {});
    if (quantized_type(*source) == DataType::kInt8)
      zero.mutable_values<int8_t>()[0] = static_cast<int8_t>(zero_point_of(*source));
    else
      zero.mutable_values<uint8_t>()[0] = static_cast<uint8_t>(zero_point_of(*source));
    Value* fill = graph.add_constant(std::move(zero));
    fill->type.type = quantized_type(*source);
    node.set_input(2, fill);
  }
  node.set_input(0, source->input(0));
  dequantize_behind(graph, node, *source);
  return true;
}

/// Where regions have 16 bits, dequantization gives them itself, as the network's own cast says.
bool sink_behind_cast(Graph& graph, Node& node, const PassOptions& options) {
  if (!options.quantized_halves || !node.is<Cast>()) return false;
  const DataType type = node.output()->type.type;
  if (type == DataType::kFloat32 || !is_region_real(type, options) ||
      node.input(0)->type.type != DataType::kFloat32 ||
      produced_by<Dequantize>(node.input(0)) == nullptr)
    return false;
  const Node& source = *node.input(0)->producer();
  auto op = std::make_unique<Dequantize>(*source.as<Dequantize>());
  op->to = type;
  take_place(graph, node.output(), add_op(graph, std::move(op), source.inputs(), source));
  return true;
}

/// Nothing that a u8 with zero point 0 stands for is negative.
bool drop_relu(Graph& graph, Node& node) {
  if (!is_function(node, k_relu) || graph.is_output(node.output())) return false;
  const Node* source = moving_source(node.input(0));
  if (source == nullptr || quantized_type(*source) != DataType::kUInt8 ||
      zero_point_of(*source) != 0)
    return false;
  const auto positive = scalar_of(source->input(1));
  if (!positive.has_value() || *positive <= 0) return false;
  graph.replace_uses(node.output(), node.input(0));
  return true;
}

}  // namespace

bool sink_dequantize(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (node.inputs().empty() || node.input(0) == nullptr) return false;
    return (sink_behind(graph, node) || sink_behind_transpose(graph, node, context.options()) ||
            sink_behind_concat(graph, node) || sink_behind_pad(graph, node) ||
            sink_behind_cast(graph, node, context.options()) || drop_relu(graph, node)) &&
           context.applied("dequantization moves behind " + node.name);
  });
}

}  // namespace tenon
