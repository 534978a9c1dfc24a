// If.
#include <fmt/format.h>

#include "ops/body.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// The shape that covers both branches' shapes.
Result<Shape> join(InferContext& context, const Shape& a, const Shape& b) {
  if (a.size() != b.size())
    return context.fail(fmt::format("the branches give shapes {} and {} of different rank",
                                    to_string(a), to_string(b)));
  Shape joined = a;
  const SymbolRanges& ranges = context.node().graph().symbol_ranges;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    joined[i] =
        context.data_dependent(Dim(std::max(a[i].range(ranges).max, b[i].range(ranges).max)));
  }
  return joined;
}

Status infer_branch(InferContext& context, Graph& body) {
  TENON_TRY(expect_body(context, body, context.input_count() - 1, context.output_count()));
  for (int i = 1; i < context.input_count(); ++i) pass_input(context, i, *body.inputs()[i - 1]);
  return infer_body(context, body);
}

}  // namespace

Status infer(const If&, InferContext& context) {
  TENON_TRY(expect_bodies(context, 2));
  if (context.input(0).type != DataType::kBool)
    return context.fail("the condition must be of type bool");
  Graph& yes = *context.node().bodies[0];
  Graph& no = *context.node().bodies[1];
  const auto condition = context.integers(0);
  // A branch that is never taken may be ill-formed for these shapes.
  if (condition && condition->size() == 1) {
    Graph& taken = (*condition)[0] != 0 ? yes : no;
    TENON_TRY(infer_branch(context, taken));
    for (int i = 0; i < context.output_count(); ++i)
      context.set_output(i, taken.outputs()[i]->type.type,
                         shape_around(context, taken, *taken.outputs()[i]));
    return {};
  }
  TENON_TRY(infer_branch(context, yes));
  TENON_TRY(infer_branch(context, no));
  for (int i = 0; i < context.output_count(); ++i) {
    const TensorType& a = yes.outputs()[i]->type;
    const TensorType& b = no.outputs()[i]->type;
    if (a.type != b.type)
      return context.fail(fmt::format("the branches give types {} and {} for output {}",
                                      name_of(a.type), name_of(b.type), i));
    TENON_ASSIGN(Shape shape, join(context, a.shape, b.shape));
    context.set_output(i, a.type, std::move(shape));
  }
  return {};
}

Status evaluate(const If&, EvalContext& context) {
  if (context.input(0).count() != 1) return context.fail("the condition must have one element");
  if (context.node().bodies.size() != 2) return context.fail("2 bodies are expected");
  const bool taken = context.input(0).as_int64(0) != 0;
  std::vector<Tensor> inputs;
  for (int i = 1; i < static_cast<int>(context.node().inputs().size()); ++i)
    inputs.push_back(context.has_input(i) ? context.input(i) : Tensor());
  TENON_ASSIGN(context.outputs(),
               evaluate_body(*context.node().bodies[taken ? 0 : 1], inputs, context.symbols()));
  return {};
}

}  // namespace tenon
