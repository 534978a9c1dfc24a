// Loop and Scan.
#include <fmt/format.h>

#include "ops/body.h"
#include "ops/loop_driver.h"
#include "ops/recurrence.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Number of iterations as an extent.
Dim trips_of(InferContext& context, const Graph& body) {
  const auto trips = context.has_input(0) ? context.elements(0) : std::nullopt;
  const Dim bound = trips && trips->size() == 1 ? max((*trips)[0], 0) : Dim(INT64_MAX);
  const Value* condition = body.outputs()[0];
  // The condition that comes in, handed through, stays true.
  const bool passes = condition == body.inputs()[1] ||
                      (condition->producer() != nullptr && condition->producer()->is<Identity>() &&
                       condition->producer()->input(0) == body.inputs()[1]);
  const Tensor* constant = condition->constant();
  const bool always =
      passes || (constant != nullptr && constant->count() == 1 && constant->as_int64(0) != 0);
  const auto first =
      context.has_input(1) ? context.integers(1) : std::optional(std::vector<int64_t>{1});
  if (first && first->size() == 1 && (*first)[0] == 0) return 0;
  if (always && first && trips && trips->size() == 1) return bound;
  return context.data_dependent(bound);
}

Status expect_scalar(const InferContext& context, int index, DataType type) {
  if (!context.has_input(index)) return {};
  if (context.input(index).type == type && context.rank(index) <= 1) return {};
  return context.fail(fmt::format("input {} must be a scalar of type {}", index, name_of(type)));
}

}  // namespace

Status infer(const Loop& op, InferContext& context) {
  TENON_TRY(expect_bodies(context, 1));
  TENON_TRY(expect_scalar(context, 0, DataType::kInt64));
  TENON_TRY(expect_scalar(context, 1, DataType::kBool));
  Graph& body = *context.node().bodies[0];
  const int count = context.input_count() - 2;
  if (op.carried < 0 || op.carried > count || op.carried > context.output_count())
    return context.fail(fmt::format("carried = {} does not fit the operands", op.carried));
  const int carried = static_cast<int>(op.carried);
  TENON_TRY(expect_body(context, body, count + 2, context.output_count() + 1));
  body.inputs()[0]->type = {DataType::kInt64, {}};
  body.inputs()[1]->type = {DataType::kBool, {}};
  for (int i = carried; i < count; ++i) pass_input(context, i + 2, *body.inputs()[i + 2]);
  TENON_TRY(infer_carried(context, body, 2, 2, 1, carried));
  if (body.outputs()[0]->type.type != DataType::kBool)
    return context.fail("the body's condition must be of type bool");
  for (int i = 0; i < carried; ++i)
    context.set_output(i, body.inputs()[2 + i]->type.type, body.inputs()[2 + i]->type.shape);
  if (carried == context.output_count()) return {};
  const Dim trips = trips_of(context, body);
  for (int i = carried; i < context.output_count(); ++i) {
    Shape shape = shape_around(context, body, *body.outputs()[1 + i]);
    shape.insert(shape.begin(), trips);
    context.set_output(i, body.outputs()[1 + i]->type.type, std::move(shape));
  }
  return {};
}

Status evaluate(const Loop& op, EvalContext& context) {
  const Node& node = context.node();
  const Graph& body = *node.bodies[0];
  LoopLimits limits;
  if (context.has_input(0)) limits.trips = context.input(0).as_int64(0);
  if (context.has_input(1)) limits.starts = context.input(1).as_int64(0) != 0;
  const auto carried = static_cast<size_t>(op.carried);
  std::vector<Tensor> inputs(2);
  for (int i = 2; i < static_cast<int>(node.inputs().size()); ++i)
    inputs.push_back(context.has_input(i) ? context.input(i) : Tensor());
  std::vector<Stack> stacks(node.outputs().size() - carried);
  const auto iterate = [&](int64_t trip) -> Result<bool> {
    inputs[0] = Tensor::scalar_i64(trip);
    inputs[1] = Tensor(DataType::kBool, {});
    inputs[1].set_from_int64(0, 1);
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_body(body, inputs, context.symbols()));
    if (results[0].count() != 1) return context.fail("the body's condition must be a scalar");
    for (size_t i = 0; i < carried; ++i) inputs[2 + i] = std::move(results[1 + i]);
    for (size_t i = 0; i < stacks.size(); ++i)
      stacks[i].append(std::move(results[1 + carried + i]));
    return results[0].as_int64(0) != 0;
  };
  const auto ran = run_loop(node, limits, iterate);
  if (!ran.ok()) return ran.error();
  for (size_t i = 0; i < carried; ++i) context.set_output(static_cast<int>(i), inputs[2 + i]);
  for (size_t i = 0; i < stacks.size(); ++i) {
    TENON_ASSIGN(Tensor stacked,
                 stacks[i].along(0, body.outputs()[1 + carried + i]->type, context));
    context.set_output(static_cast<int>(carried + i), std::move(stacked));
  }
  return {};
}

namespace {

/// Counts of a scan's operands, checked against each other.
Status check_counts(const Scan& op, const InferContext& context) {
  const int64_t inputs = context.input_count(), outputs = context.output_count();
  if (op.states < 0 || op.scanned < 1 || op.states > inputs || op.scanned > inputs - op.states)
    return context.fail(
        fmt::format("states = {} and scanned = {} do not fit the operands", op.states, op.scanned));
  if (outputs < op.states) return context.fail("each state needs an output");
  for (int i = 0; i < context.input_count(); ++i)
    if (!context.has_input(i)) return context.fail(fmt::format("input {} is missing", i));
  return expect_body(context, *context.node().bodies[0], static_cast<int>(inputs),
                     static_cast<int>(outputs));
}

}  // namespace

Status infer(const Scan& op, InferContext& context) {
  TENON_TRY(expect_bodies(context, 1));
  TENON_TRY(check_counts(op, context));
  Graph& body = *context.node().bodies[0];
  const int states = static_cast<int>(op.states), scanned = static_cast<int>(op.scanned);
  Dim steps = 0;
  for (int i = 0; i < scanned; ++i) {
    Shape shape = context.shape(states + i);
    TENON_ASSIGN(const int64_t axis,
                 context.axis(attribute_at(op.input_axes, i), static_cast<int>(shape.size())));
    if (i == 0 || shape[axis].is_constant()) steps = shape[axis];
    shape.erase(shape.begin() + axis);
    body.inputs()[states + i]->type = {context.input(states + i).type, std::move(shape)};
  }
  for (int i = states + scanned; i < context.input_count(); ++i)
    pass_input(context, i, *body.inputs()[i]);
  TENON_TRY(infer_carried(context, body, 0, 0, 0, states));
  for (int i = 0; i < states; ++i)
    context.set_output(i, body.inputs()[i]->type.type, body.inputs()[i]->type.shape);
  for (int i = states; i < context.output_count(); ++i) {
    Shape shape = shape_around(context, body, *body.outputs()[i]);
    TENON_ASSIGN(const int64_t axis, context.axis(attribute_at(op.output_axes, i - states),
                                                  static_cast<int>(shape.size()) + 1));
    shape.insert(shape.begin() + axis, steps);
    context.set_output(i, body.outputs()[i]->type.type, std::move(shape));
  }
  return {};
}

Status evaluate(const Scan& op, EvalContext& context) {
  const Node& node = context.node();
  const Graph& body = *node.bodies[0];
  const int states = static_cast<int>(op.states), scanned = static_cast<int>(op.scanned);
  std::vector<Tensor> inputs;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
    inputs.push_back(context.input(i));
  std::vector<int> axes;
  int64_t steps = 0;
  for (int i = 0; i < scanned; ++i) {
    const Tensor& input = context.input(states + i);
    const int64_t axis = attribute_at(op.input_axes, i);
    if (axis < -input.rank() || axis >= input.rank())
      return context.fail(fmt::format("axis {} of scanned input {} is out of range", axis, i));
    axes.push_back(static_cast<int>(axis < 0 ? axis + input.rank() : axis));
    const int64_t extent = input.extents()[axes[i]];
    if (i > 0 && extent != steps) return context.fail("the scanned inputs differ in length");
    steps = extent;
  }
  std::vector<Stack> stacks(node.outputs().size() - states);
  const auto iterate = [&](int64_t step) -> Result<bool> {
    for (int i = 0; i < scanned; ++i) {
      const bool backward = attribute_at(op.input_directions, i) == 1;
      inputs[states + i] =
          slice_at(context.input(states + i), axes[i], slice_of(step, steps, backward));
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_body(body, inputs, context.symbols()));
    for (int i = 0; i < states; ++i) inputs[i] = std::move(results[i]);
    for (size_t i = 0; i < stacks.size(); ++i) stacks[i].append(std::move(results[states + i]));
    return true;
  };
  const auto ran = run_loop(node, {.trips = steps}, iterate);
  if (!ran.ok()) return ran.error();
  for (int i = 0; i < states; ++i) context.set_output(i, inputs[i]);
  for (int i = 0; i < static_cast<int>(stacks.size()); ++i) {
    if (attribute_at(op.output_directions, i) == 1) stacks[i].reverse();
    TENON_ASSIGN(Tensor stacked, stacks[i].along(attribute_at(op.output_axes, i),
                                                 body.outputs()[states + i]->type, context));
    context.set_output(states + i, std::move(stacked));
  }
  return {};
}

}  // namespace tenon
