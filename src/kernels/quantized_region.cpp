#include "kernels/quantized_region.h"

#include "ops/math.h"
#include "ops/nn.h"
#include "ops/structure.h"

namespace tenon {
namespace {

/// Scale and zero point of a Quantize or Dequantize.
Result<Scaling> scaling_of(const Problem& problem, const Node& node, bool may_be_computed = false) {
  Scaling scaling{input_number(node.input(1)), input_number(node.input(2))};
  const auto is_known = [&](int input) {
    return input >= 0 && (may_be_computed || problem.input(input).constant != nullptr);
  };
  if (!is_known(scaling.scale)) return unsupported("a scale that is not constant");
  if (node.has_input(2) && !is_known(scaling.zero))
    return unsupported("a zero point that is not constant");
  return scaling;
}

/// An operand that is dequantized inside the region.
Status bytes_operand(const Problem& problem, const Value* value, int& input, Scaling& scaling,
                     bool may_be_computed = false) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || !node->is<Dequantize>() || input_number(node->input(0)) < 0)
    return unsupported("an operand that is not dequantized in the region");
  input = input_number(node->input(0));
  TENON_ASSIGN(scaling, scaling_of(problem, *node, may_be_computed));
  return {};
}

/// The first operand of the anchor, which may be quantized inside the region.
Status image_operand(const Problem& problem, const Node& anchor, QuantizedRegion& region,
                     bool may_be_computed) {
  const Node* dequantize = anchor.input(0) == nullptr ? nullptr : anchor.input(0)->producer();
  const Value* bytes =
      dequantize != nullptr && dequantize->is<Dequantize>() ? dequantize->input(0) : nullptr;
  if (bytes == nullptr || bytes->producer() == nullptr || !bytes->producer()->is<Quantize>())
    return bytes_operand(problem, anchor.input(0), region.x, region.x_scaling, may_be_computed);
  region.x = input_number(bytes->producer()->input(0));
  if (region.x < 0) return unsupported("an operand that is computed in the region");
  region.rounded_x = bytes->type.type;
  TENON_ASSIGN(region.x_scaling, scaling_of(problem, *dequantize));
  return {};
}

Result<QuantizedStep> function_step(const Problem& problem, const Node& node,
                                    const Value* running) {
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr) return unsupported("{} in a quantized region", node.op->name());
  QuantizedStep step;
  step.function = {pointwise->function, pointwise->alpha, pointwise->beta, -1, false};
  if (node.inputs().size() == 1) return step;
  if (node.inputs().size() > 2 || node.input(0) == node.input(1))
    return unsupported("{} in the region is not a step of a chain", node.op->name());
  step.function.value_is_second = node.input(1) == running;
  const Value* operand = node.input(step.function.value_is_second ? 0 : 1);
  if (operand->producer() != nullptr && operand->producer()->is<Cast>())
    operand = operand->producer()->input(0);
  step.function.operand = input_number(operand);
  if (step.function.operand >= 0) return step;
  step.scaling.emplace();
  TENON_TRY(bytes_operand(problem, operand, step.function.operand, *step.scaling));
  return step;
}

/// Takes in pooling of the bytes, which gives the body's output.
Status follow_pooling(const Graph& body, const Value* bytes, QuantizedRegion& region) {
  const Node& next = *bytes->uses()[0].node;
  const auto* pool = next.as<Pool>();
  if (pool == nullptr || pool->function != PoolFunction::kMax || next.outputs().size() != 1 ||
      next.output() != body.outputs()[0])
    return unsupported("bytes inside the region");
  region.pooling = Operation(next);
  return {};
}

/// The steps from the anchor to the output of the body.
Status follow(const Problem& problem, const Graph& body, const Node& anchor,
              QuantizedRegion& region) {
  const Value* running = anchor.output();
  while (running != body.outputs()[0]) {
    if (running->uses().size() != 1) return unsupported("the region is not a chain");
    const Node& next = *running->uses()[0].node;
    if (next.is<Cast>() && next.output() == body.outputs()[0]) return {};
    if (!next.is<Quantize>()) {
      TENON_ASSIGN(QuantizedStep step, function_step(problem, next, running));
      region.steps.push_back(step);
      running = next.output();
      continue;
    }
    TENON_ASSIGN(const Scaling scaling, scaling_of(problem, next));
    running = next.output();
    if (running == body.outputs()[0]) {
      region.output = scaling;
      break;
    }
    if (running->uses().size() != 1) return unsupported("bytes inside the region");
    if (!running->uses()[0].node->is<Dequantize>()) {
      region.output = scaling;
      return follow_pooling(body, running, region);
    }
    QuantizedStep step{.rounds = true, .rounded_type = running->type.type};
    step.scaling = scaling;
    region.steps.push_back(step);
    running = running->uses()[0].node->output();
  }
  return {};
}

/// A region with pooling or without.
Result<QuantizedRegion> any_region(const Problem& problem, bool may_be_computed) {
  const Operation& node = problem.operation;
  if (!node.is<Fused>()) return unsupported("no region");
  const Graph& body = *node.bodies()[0];
  if (body.outputs().size() != 1)
    return unsupported("the region has {} outputs", body.outputs().size());
  const Node* anchor = nullptr;
  for (const auto& inner : body.nodes())
    if (inner->is<Conv>() || inner->is<MatMul>()) anchor = inner.get();
  if (anchor == nullptr) return unsupported("no convolution or matmul in the region");
  QuantizedRegion region{.anchor = *anchor};
  TENON_TRY(image_operand(problem, *anchor, region, may_be_computed));
  TENON_TRY(bytes_operand(problem, anchor->input(1), region.weights, region.weight_scaling));
  if (anchor->has_input(2)) {
    region.bias = input_number(anchor->input(2));
    if (region.bias < 0) return unsupported("a bias that is computed inside the region");
  }
  TENON_TRY(follow(problem, body, *anchor, region));
  return region;
}

}  // namespace

Result<QuantizedOperand> quantized_operand(const Problem& problem, const Value* value) {
  QuantizedOperand operand;
  TENON_TRY(bytes_operand(problem, value, operand.input, operand.scaling));
  return operand;
}

Result<Scaling> known_scaling(const Problem& problem, const Node& node) {
  return scaling_of(problem, node);
}

Result<QuantizedRegion> quantized_region(const Problem& problem, bool may_be_computed) {
  TENON_ASSIGN(QuantizedRegion region, any_region(problem, may_be_computed));
  if (region.pooling) return unsupported("pooling behind the bytes");
  return region;
}

Result<QuantizedRegion> pooled_region(const Problem& problem) {
  TENON_ASSIGN(QuantizedRegion region, any_region(problem, false));
  if (!region.pooling) return unsupported("no pooling in the region");
  return region;
}

}  // namespace tenon
