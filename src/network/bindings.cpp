#include "network/bindings.h"

#include <algorithm>

#include "network/scaling.h"
#include "ops/math.h"

namespace tenon::network {
namespace {

bool is_wide_real(DataType type) {
  return type == DataType::kFloat32 || is_half(type);
}

bool is_index(DataType type) {
  return type == DataType::kInt32 || type == DataType::kInt64;
}

Scaling scaling_of_range(Graph& graph, float range, DataType type) {
  if (range <= 0) return {};
  Tensor scale(type, {});
  scale.set_from_double(0, static_cast<double>(range) / 127);
  return {graph.add_constant(std::move(scale)), nullptr};
}

Error without_scale(const Value& value) {
  return user_error(
      "'{}' cannot be bound as INT8 without a scale: give its tensor a dynamic range "
      "(setDynamicRange), or quantize it in the network (QuantizeLinear, DequantizeLinear)",
      value.name);
}

Error not_convertible(const Value& value, DataType wanted) {
  return user_error(
      "'{}' is {} and cannot be bound as {}: convert it in the network (ICastLayer, Cast)",
      value.name, name_of(value.type.type), name_of(wanted));
}

/// The value converted by a new node; `to` scales 8-bit integers where they take part.
Value* converted(Graph& graph, Value& value, DataType type, const Scaling& scaling) {
  std::unique_ptr<Op> op;
  std::vector<Value*> operands = {&value};
  if (scaling.scale == nullptr) {
    op = std::make_unique<Cast>(type);
  } else {
    operands.push_back(scaling.scale);
    if (scaling.zero != nullptr) operands.push_back(scaling.zero);
    if (type == DataType::kInt8) {
      op = std::make_unique<Quantize>();
    } else {
      auto dequantize = std::make_unique<Dequantize>();
      dequantize->to = type;
      op = std::move(dequantize);
    }
  }
  Node* node = graph.add_node(std::move(op), std::move(operands), 1,
                              fmt::format("reformat({})", value.name));
  node->output()->type = {type, value.type.shape};
  return node->output();
}

/// Layers' outputs that have a range are scaled where they become bytes.
bool is_cast_to_bytes(const Value& value) {
  return value.type.type == DataType::kInt8 && value.producer() != nullptr &&
         value.producer()->is<Cast>() && is_wide_real(value.producer()->input(0)->type.type);
}

/// The new value takes the name of the old one.
void replace_output(Graph& graph, int index, Value& outer) {
  Value* inner = graph.outputs()[static_cast<size_t>(index)];
  outer.producer()->origins = inner->producer()->origins;
  outer.name = std::move(inner->name);
  inner->name.clear();
  graph.set_output(index, &outer);
}

}  // namespace

bool can_bind(DataType own, DataType wanted) {
  if (own == wanted || (is_index(own) && is_index(wanted))) return true;
  return is_wide_real(own) && (is_wide_real(wanted) || wanted == DataType::kInt8);
}

Status bind_input(Graph& graph, Value& input, const Binding& binding) {
  const DataType own = input.type.type;
  if (own == binding.type) return {};
  if (!can_bind(own, binding.type)) return not_convertible(input, binding.type);
  Scaling scaling;
  if (binding.type == DataType::kInt8) {
    scaling = scaling_of_range(graph, binding.range, own);
    if (scaling.scale == nullptr) scaling = scaling_of_readers(input);
    if (scaling.scale == nullptr) return without_scale(input);
  }
  const std::vector<Use> readers(input.uses().begin(), input.uses().end());
  input.type.type = binding.type;
  Value* inner = converted(graph, input, own, scaling);
  for (const Use& use : readers) use.node->set_input(use.index, inner);
  return {};
}

Status bind_output(Graph& graph, int index, const Binding& binding) {
  Value* inner = graph.outputs()[static_cast<size_t>(index)];
  if (is_cast_to_bytes(*inner) && binding.range > 0) {
    Value& real = *inner->producer()->input(0);
    Value* outer = converted(graph, real, DataType::kInt8,
                             scaling_of_range(graph, binding.range, real.type.type));
    replace_output(graph, index, *outer);
    return {};
  }
  if (inner->type.type == binding.type || inner->producer() == nullptr) return {};
  if (!can_bind(inner->type.type, binding.type)) return not_convertible(*inner, binding.type);
  Scaling scaling;
  if (binding.type == DataType::kInt8) {
    scaling = scaling_of_range(graph, binding.range, inner->type.type);
    if (scaling.scale == nullptr && inner->producer()->is<Dequantize>())
      scaling = scaling_of(*inner->producer());
    if (scaling.scale == nullptr) return without_scale(*inner);
  }
  replace_output(graph, index, *converted(graph, *inner, binding.type, scaling));
  return {};
}

}  // namespace tenon::network
