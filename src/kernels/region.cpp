#include "kernels/region.h"

#include <algorithm>

#include "ops/math.h"
#include "ops/nn.h"
#include "ops/structure.h"

namespace tenon {
namespace {

bool is_pointwise(const Operation& node) {
  return node.is<Pointwise>() || node.is<Cast>();
}

/// How many steps ago `value` was the running one, or -1.
int steps_ago(const std::vector<const Value*>& values, const Value* value) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[values.size() - 1 - i] == value) return static_cast<int>(i);
  return -1;
}

/// `values`: the anchor's and those of the steps before.
Result<RegionStep> step_over(const Node& node, const std::vector<const Value*>& values) {
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr)
    return unsupported("{} in the epilogue is not a scalar function", node.op->name());
  if (node.inputs().size() > 2)
    return unsupported("{} in the epilogue is not a step of a chain", node.op->name());
  RegionStep step{pointwise->function, pointwise->alpha, pointwise->beta};
  step.from = steps_ago(values, node.input(0));
  const int second = node.inputs().size() == 2 ? steps_ago(values, node.input(1)) : -1;
  if (step.from < 0 && second < 0)
    return unsupported("{} in the epilogue has no operand of the region's", node.op->name());
  if (node.inputs().size() == 1) return step;
  step.value_is_second = step.from < 0 || second == 0;
  const int first = step.from;
  if (step.value_is_second) step.from = second;
  if (first >= 0 && second >= 0) {
    step.earlier = step.value_is_second ? first : second;
    return step;
  }
  step.operand = input_number(node.input(step.value_is_second ? 0 : 1));
  if (step.operand < 0)
    return unsupported("an operand of {} comes from inside the region", node.op->name());
  return step;
}

/// The steps in the order of the body, each value but the last used inside alone.
Status take_steps(const Graph& body, const Node& anchor, RegionExtras extras,
                  AnchoredRegion& region, size_t& casts) {
  std::vector<const Value*> values;
  values.reserve(body.nodes().size());
  values.push_back(anchor.output());
  region.steps.reserve(body.nodes().size());
  for (const auto& inner : body.nodes()) {
    const bool part = inner.get() == &anchor || inner.get() == region.standardize ||
                      inner.get() == region.moments || inner.get() == region.dequantize;
    if (part || values.back() == body.outputs()[0]) continue;
    if (extras.cast && inner->is<Cast>() && inner->output() == body.outputs()[0] &&
        inner->input(0) == values.back()) {
      casts = 1;
      return {};
    }
    if (extras.quantized && inner->is<Quantize>() && inner->output() == body.outputs()[0] &&
        inner->input(0) == values.back()) {
      region.quantize = inner.get();
      return {};
    }
    if (extras.gated && inner->is<GatedUnit>() && inner->output() == body.outputs()[0] &&
        inner->input(0) == values.back()) {
      region.gate = inner->as<GatedUnit>();
      return {};
    }
    TENON_ASSIGN(const RegionStep step, step_over(*inner, values));
    const bool branches = step.from != 0 || step.earlier >= 0;
    if (branches && !extras.branches) return unsupported("the epilogue is not a chain");
    region.steps.push_back(step);
    values.push_back(inner->output());
  }
  return {};
}

/// Takes normalization's halves in front of and behind the anchor's chain.
Status take_moments(const Node& inner, AnchoredRegion& region, const Graph& body) {
  if (inner.is<Standardize>()) {
    region.moments_input = input_number(inner.input(1));
    if (region.standardize != nullptr || input_number(inner.input(0)) < 0 ||
        region.moments_input < 0 || inner.output()->uses().size() != 1)
      return unsupported("the standardized value has other uses than the anchor");
    region.standardize = &inner;
    return {};
  }
  if (region.moments != nullptr || body.outputs().size() != 2 ||
      body.outputs()[0] != inner.input(0) || body.outputs()[1] != inner.output())
    return unsupported("moments of another value than the first result");
  region.moments = &inner;
  return {};
}

/// Takes the dequantization of constant weights.
Status take_dequantize(const Node& inner, AnchoredRegion& region) {
  if (region.dequantize != nullptr || inner.output()->uses().size() != 1 ||
      inner.output()->uses()[0].index != 1)
    return unsupported("a dequantization that is not of the anchor's second operand");
  region.dequantize = &inner;
  return {};
}

/// The anchor's operand as it comes into the region.
const Value* operand_of(const AnchoredRegion& region, const Node& anchor, size_t index) {
  const Value* operand = anchor.inputs()[index];
  const bool standardized =
      index == 0 && region.standardize != nullptr && operand == region.standardize->output();
  return standardized ? region.standardize->input(0) : operand;
}

}  // namespace

Result<AnchoredRegion> anchored_region(const Problem& problem, RegionExtras extras) {
  AnchoredRegion region;
  const Operation& node = problem.operation;
  if (!node.is<Fused>()) {
    region.anchor = node;
    for (size_t i = 0; i < node.input_count(); ++i)
      region.anchor_inputs.push_back(node.has_input(static_cast<int>(i)) ? static_cast<int>(i)
                                                                         : -1);
    return region;
  }
  const Graph& body = *node.bodies()[0];
  const Node* anchor = nullptr;
  if (body.outputs().size() != 1 && !extras.moments)
    return unsupported("the region has {} outputs", body.outputs().size());
  for (const auto& inner : body.nodes()) {
    if (is_pointwise(*inner) || (extras.quantized && inner->is<Quantize>()) ||
        (extras.gated && inner->is<GatedUnit>()))
      continue;
    if (extras.moments && (inner->is<Standardize>() || inner->is<RowMoments>())) {
      TENON_TRY(take_moments(*inner, region, body));
      continue;
    }
    if (extras.dequantized && inner->is<Dequantize>()) {
      TENON_TRY(take_dequantize(*inner, region));
      continue;
    }
    if (anchor != nullptr) return unsupported("the region has more than one anchor");
    anchor = inner.get();
  }
  if (anchor == nullptr) return unsupported("the region is pointwise");
  region.anchor = *anchor;
  if (body.outputs().size() != (region.moments != nullptr ? 2 : 1))
    return unsupported("the region has {} outputs", body.outputs().size());
  for (size_t i = 0; i < anchor->inputs().size(); ++i) {
    const Value* operand = operand_of(region, *anchor, i);
    region.anchor_inputs.push_back(input_number(operand));
    const bool dequantized = region.dequantize != nullptr && i == 1;
    if (operand != nullptr && operand->producer() != nullptr && !dequantized)
      return unsupported("an operand of {} is computed inside the region", anchor->op->name());
  }
  size_t casts = 0;
  TENON_TRY(take_steps(body, *anchor, extras, region, casts));
  const size_t others = (region.standardize != nullptr) + (region.moments != nullptr) +
                        (region.dequantize != nullptr) + (region.quantize != nullptr) +
                        (region.gate != nullptr);
  if (region.steps.size() + casts + others + 1 != body.nodes().size())
    return unsupported("the epilogue is not a chain");
  return region;
}

Extents extents_of_steps(const Problem& problem, const AnchoredRegion& region) {
  Extents extents = problem.output().extents;
  if (!extents.empty()) extents.back() *= region.columns_of_result();
  return extents;
}

bool reaches_before(const AnchoredRegion& region, size_t rest) {
  for (size_t i = rest; i < region.steps.size(); ++i) {
    const int back = std::max(region.steps[i].from, region.steps[i].earlier);
    if (static_cast<size_t>(back) > i - rest) return true;
  }
  return false;
}

int input_number(const Value* value) {
  return value != nullptr && value->producer() == nullptr ? value->index() : -1;
}

bool is_pointwise_region(const Operation& operation) {
  if (!operation.is<Fused>()) return is_pointwise(operation);
  const auto nodes = operation.bodies()[0]->nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const auto& inner) { return is_pointwise(*inner); });
}

}  // namespace tenon
