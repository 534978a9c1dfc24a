#include "ops/control_flow.h"

#include "ops/structure.h"

namespace tenon {
bool is_control_flow(const Operation& operation) {
  return operation.is<If>() || operation.is<Loop>() || operation.is<Scan>();
}

bool may_run(const Node& node, int body) {
  if (!node.is<If>()) return true;
  const Value& condition = *node.input(0);
  const Tensor* constant = condition.constant();
  if (constant != nullptr && constant->count() == 1)
    return (constant->as_int64(0) != 0) == (body == 0);
  if (!condition.elements.has_value() || condition.elements->size() != 1) return true;
  const Dim& element = condition.elements->front();
  return !element.is_constant() || (element.constant() != 0) == (body == 0);
}

Recurrence::Recurrence(const Node& node) {
  if (const auto* loop = node.as<Loop>()) {
    first = 2;
    results = 1;
    states = static_cast<int>(loop->carried);
  } else if (const auto* scan = node.as<Scan>()) {
    states = static_cast<int>(scan->states);
    scanned = static_cast<int>(scan->scanned);
  }
  stacked = static_cast<int>(node.outputs().size()) - states;
}

int64_t Recurrence::input_axis(const Node& node, int index) const {
  const auto* scan = node.as<Scan>();
  return scan == nullptr ? 0 : attribute_at(scan->input_axes, index);
}
int64_t Recurrence::output_axis(const Node& node, int index) const {
  const auto* scan = node.as<Scan>();
  return scan == nullptr ? 0 : attribute_at(scan->output_axes, index);
}
bool Recurrence::input_backward(const Node& node, int index) const {
  const auto* scan = node.as<Scan>();
  return scan != nullptr && attribute_at(scan->input_directions, index) == 1;
}
bool Recurrence::output_backward(const Node& node, int index) const {
  const auto* scan = node.as<Scan>();
  return scan != nullptr && attribute_at(scan->output_directions, index) == 1;
}

bool always_goes_on(const Node& loop) {
  const Graph& body = *loop.bodies[0];
  const Value* condition = body.outputs()[0];
  while (condition->producer() != nullptr && condition->producer()->is<Identity>())
    condition = condition->producer()->input(0);
  const Tensor* constant = condition->constant();
  return condition == body.inputs()[1] ||
         (constant != nullptr && constant->count() == 1 && constant->as_int64(0) != 0);
}

}  // namespace tenon
