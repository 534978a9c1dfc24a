#include "check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/ops.h"
#include "ops/scalar_steps.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Another draw of the same rounding moves about as many.
constexpr double kDraws = 3;
/// Share of bytes that may lie one step off. They are up to 127 steps, of which a result in between
/// that has the 11 bits of f16 is off by up to a sixteenth of one: as many lie so near to a middle.
constexpr double kByteShare = 127.0 / (1 << 11);

struct IntegerDifference {
  double share = 0;    ///< Of elements that differ.
  double largest = 0;  ///< Of the differences.
  int64_t element = -1;
};

IntegerDifference integer_difference(const Tensor& a, const Tensor& e) {
  IntegerDifference result;
  int64_t differing = 0;
  for (int64_t i = 0; i < e.count(); ++i) {
    const double apart = std::abs(a.as_double(i) - e.as_double(i));
    differing += apart != 0 ? 1 : 0;
    if (apart <= result.largest) continue;
    result.largest = apart;
    result.element = i;
  }
  result.share =
      static_cast<double>(differing) / static_cast<double>(std::max<int64_t>(1, e.count()));
  return result;
}

bool is_byte(DataType type) {
  return is_integer(type) && byte_size(type) == 1;
}

Deviation compare_integers(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                           bool exact) {
  const IntegerDifference own = integer_difference(actual, expected);
  const IntegerDifference draw =
      rounded == nullptr ? IntegerDifference() : integer_difference(*rounded, expected);
  Deviation result;
  result.norm = own.share;
  const double usual = is_byte(expected.type()) ? kByteShare : kJumpShare;
  result.norm_limit = exact ? 0 : std::max(usual, kDraws * draw.share);
  result.element = own.element;
  if (own.element < 0) return result;
  result.actual = actual.as_double(own.element);
  result.expected = expected.as_double(own.element);
  // Bytes stand for numbers, other integers for places.
  if (is_byte(expected.type()))
    result.excess = own.largest / (exact ? 0.5 : std::max(1.0, kDraws * draw.largest));
  return result;
}

bool jumps(PointwiseFunction function) {
  switch (function) {
    case PointwiseFunction::k_sign:
    case PointwiseFunction::k_ceil:
    case PointwiseFunction::k_floor:
    case PointwiseFunction::k_round:
    case PointwiseFunction::k_floor_div:
    case PointwiseFunction::k_mod:
    case PointwiseFunction::k_fmod:
    case PointwiseFunction::k_thresholded_relu:
    case PointwiseFunction::k_shrink: return true;
    default: return pointwise_info(function).category == PointwiseClass::compare;
  }
}

bool jumps(const std::vector<std::string>& texts) {
  const auto steps = parse_scalar_steps(texts).value_or(std::vector<ScalarStep>());
  return std::ranges::any_of(steps, [](const ScalarStep& step) { return jumps(step.function); });
}

bool jumps(const Node& node) {
  if (const auto* pointwise = node.as<Pointwise>()) return jumps(pointwise->function);
  if (const auto* cast = node.as<Cast>()) return !is_real(cast->to);
  if (const auto* attention = node.as<Attention>())
    return attention->weights_step != 0 || jumps(attention->score_steps) ||
           jumps(attention->masked_steps);
  return node.is<Quantize>() || node.is<DynamicQuantize>() || node.is<TopK>() ||
         node.is<ArgReduce>() || node.is<Hardmax>() || node.is<Nms>() || node.is<GridSample>() ||
         node.is<RoiPool>();
}

bool has_reals(const Graph& graph) {
  const auto real = [](const Value* value) { return is_real(value->type.type); };
  return std::ranges::any_of(graph.inputs(), real) ||
         std::ranges::any_of(graph.nodes(), [&](const auto& node) {
           return std::ranges::any_of(node->outputs(), real) ||
                  std::ranges::any_of(node->bodies,
                                      [](const auto& body) { return has_reals(*body); });
         });
}

bool has_jumps(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    return jumps(*node) ||
           std::ranges::any_of(node->bodies, [](const auto& body) { return has_jumps(*body); });
  });
}

/// The distance of neighbouring numbers of an output that is dequantized at the end; 0: it is not.
double step_of(const Value* output) {
  const Node* node = output->producer();
  while (node != nullptr && (node->is<Reshape>() || node->is<Transpose>() || node->is<Identity>()))
    node = node->input(0)->producer();
  if (node == nullptr || !node->is<Dequantize>() || node->input(1)->constant() == nullptr ||
      node->input(1)->constant()->count() != 1 || !is_byte(node->input(0)->type.type))
    return 0;
  return std::abs(node->input(1)->constant()->as_double(0));
}

/// Few elements differ, none by more than a step: sums in the middle between two numbers go either
/// way, also where another draw of the rounding has moved none.
bool within_a_step(const Tensor& actual, const Tensor& expected, double step) {
  if (step == 0 || actual.extents() != expected.extents()) return false;
  constexpr double kPart = 0.01;
  int64_t moved = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double apart = std::abs(actual.as_double(i) - expected.as_double(i));
    if (!(apart <= (1 + kPart) * step)) return false;
    moved += apart > kPart * step ? 1 : 0;
  }
  return static_cast<double>(moved) <= kJumpShare * static_cast<double>(expected.count());
}

}  // namespace

Steadiness steadiness_of(const Graph& graph) {
  if (!has_reals(graph)) return Steadiness::kExact;
  return has_jumps(graph) ? Steadiness::kJumps : Steadiness::kSteady;
}

double distance(const Tensor& actual, const Tensor& expected) {
  if (actual.extents() != expected.extents()) return 1;
  if (!is_real(expected.type())) return integer_difference(actual, expected).share;
  const Deviation found = compare_tensors(actual, expected, nullptr, {});
  return std::isinf(found.excess) && !std::isfinite(found.actual - found.expected) ? 1 : found.norm;
}

Deviation compare_results(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                          const Tolerance& tolerance, Steadiness steadiness) {
  const bool as_numbers = is_real(actual.type()) && is_real(expected.type());
  if (as_numbers || actual.extents() != expected.extents() || actual.type() != expected.type())
    return compare_tensors(actual, expected, rounded, tolerance, steadiness == Steadiness::kJumps);
  return compare_integers(actual, expected, rounded, steadiness == Steadiness::kExact);
}

std::string compare_outputs(const Graph& graph, std::span<const Tensor> actual,
                            std::span<const Tensor> expected, std::span<const Tensor> rounded,
                            const Tolerance& tolerance, std::vector<Deviation>* found) {
  std::string wrong;
  const Steadiness steadiness = std::max(steadiness_of(graph), Steadiness::kSteady);
  for (size_t i = 0; i < expected.size(); ++i) {
    Deviation deviation = compare_results(
        actual[i], expected[i], rounded.empty() ? nullptr : &rounded[i], tolerance, steadiness);
    if (!deviation.agrees() && deviation.norm <= deviation.norm_limit &&
        within_a_step(actual[i], expected[i], step_of(graph.outputs()[i])))
      deviation.excess = 1;
    if (found != nullptr) found->push_back(deviation);
    if (wrong.empty() && !deviation.agrees())
      wrong = fmt::format("output '{}': {}", graph.outputs()[i]->name, deviation.describe());
  }
  return wrong;
}

}  // namespace tenon
