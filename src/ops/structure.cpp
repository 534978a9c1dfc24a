// Constants, identities, regions, assertions and plugins.
#include "ops/structure.h"

#include "ops/body.h"
#include "ops/table.h"

namespace tenon {

/// Contents may have been left out: plans keep only constants that kernels read.
Status infer(const Constant& op, InferContext& context) {
  return context.finish(op.value.type(), to_shape(op.value.extents()));
}

Status evaluate(const Constant& op, EvalContext& context) {
  if (!op.value.defined()) return context.fail("the constant has no value");
  return context.finish(op.value);
}

namespace {

Status infer_copy(InferContext& context) {
  context.set_output(0, context.input(0).type, context.shape(0));
  if (auto elements = context.elements(0)) context.set_elements(0, std::move(*elements));
  return {};
}

Status evaluate_copy(EvalContext& context) {
  return context.finish(context.input(0));
}

}  // namespace

Status infer(const Identity&, InferContext& context) {
  return infer_copy(context);
}
Status evaluate(const Identity&, EvalContext& context) {
  return evaluate_copy(context);
}

/// Reference tensors are row-major, whatever the layout.
Status infer(const Reformat&, InferContext& context) {
  return infer_copy(context);
}
Status evaluate(const Reformat&, EvalContext& context) {
  return evaluate_copy(context);
}

Status infer(const Fused&, InferContext& context) {
  TENON_TRY(expect_bodies(context, 1));
  Graph& body = *context.node().bodies[0];
  TENON_TRY(expect_body(context, body, context.input_count(), context.output_count()));
  for (int i = 0; i < context.input_count(); ++i) pass_input(context, i, *body.inputs()[i]);
  TENON_TRY(infer_body(context, body));
  for (int i = 0; i < context.output_count(); ++i) {
    const Value& output = *body.outputs()[i];
    context.set_output(i, output.type.type, output.type.shape);
    if (output.elements) context.set_elements(i, *output.elements);
  }
  return {};
}

Status evaluate(const Fused&, EvalContext& context) {
  std::vector<Tensor> inputs;
  const int count = static_cast<int>(context.node().inputs().size());
  for (int i = 0; i < count; ++i)
    inputs.push_back(context.has_input(i) ? context.input(i) : Tensor());
  TENON_ASSIGN(context.outputs(),
               evaluate_body(*context.node().bodies[0], inputs, context.symbols()));
  return {};
}

Status infer(const Assertion& op, InferContext& context) {
  if (context.input(0).type != DataType::kBool) return context.fail("a bool input is expected");
  if (const auto known = context.integers(0))
    for (const int64_t value : *known)
      if (value == 0) return context.fail(op.message);
  return {};
}

Status evaluate(const Assertion& op, EvalContext& context) {
  const Tensor& condition = context.input(0);
  for (int64_t i = 0; i < condition.count(); ++i)
    if (condition.as_int64(i) == 0) return context.fail(op.message);
  return {};
}

Status evaluate(const Plugin& op, EvalContext& context) {
  return unsupported("node \"{}\": the plugin \"{}\" has no reference implementation",
                     context.node().name, op.type);
}

}  // namespace tenon
