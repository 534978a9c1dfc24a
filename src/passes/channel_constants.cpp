#include "passes/channel_constants.h"

namespace tenon {

std::optional<std::vector<double>> per_channel(const Value* value, int64_t rank, int64_t axis,
                                               int64_t channels) {
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  if (tensor == nullptr || !is_real(tensor->type())) return std::nullopt;
  const int64_t skipped = rank - tensor->rank();
  if (skipped < 0 || (tensor->count() != 1 && tensor->count() != channels)) return std::nullopt;
  for (int64_t i = 0; i < tensor->rank(); ++i)
    if (tensor->extents()[i] != 1 && i + skipped != axis) return std::nullopt;
  std::vector<double> numbers;
  for (int64_t i = 0; i < channels; ++i)
    numbers.push_back(tensor->as_double(tensor->count() == 1 ? 0 : i));
  return numbers;
}

Value* constant_like(Graph& graph, DataType type, const Extents& extents,
                     const std::vector<double>& numbers) {
  Tensor tensor(type, extents);
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.set_from_double(static_cast<int64_t>(i), numbers[i]);
  Value* value = graph.add_constant(std::move(tensor));
  value->type = {type, to_shape(extents)};
  return value;
}

std::vector<double> bias_of(const Node& conv, int64_t count) {
  std::vector<double> bias(count, 0);
  if (conv.has_input(2))
    for (int64_t i = 0; i < count; ++i) bias[i] = conv.input(2)->constant()->as_double(i);
  return bias;
}

bool has_constant_bias(const Node& anchor) {
  return !anchor.has_input(2) || anchor.input(2)->constant() != nullptr;
}

void set_bias(Graph& graph, Node& conv, const std::vector<double>& bias) {
  Value* value =
      constant_like(graph, conv.input(1)->type.type, {static_cast<int64_t>(bias.size())}, bias);
  if (conv.inputs().size() < 3)
    conv.append_input(value);
  else
    conv.set_input(2, value);
}

}  // namespace tenon
