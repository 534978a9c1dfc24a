#pragma once

#include <vector>

#include "kernels/tactic.h"
#include "ops/math.h"

namespace tenon {

/// One pointwise step after a region's anchor. The running value is one operand; `operand` is the
/// problem input that is the other (-1: none). In regions that branch (RegionExtras) a step may
/// begin with the value of `from` steps ago, and its other operand may be that of `earlier` steps
/// ago; where either is the running value, `from` is 0.
struct RegionStep {
  PointwiseFunction function;
  double alpha = 0, beta = 0;
  int operand = -1;
  bool value_is_second = false;  ///< The running value is y, the operand x (e.g. operand - value).
  int from = 0;                  ///< 0: the running value.
  int earlier = -1;              ///< -1: no operand of this kind; 0: the running value.
};

/// A region as most kernels want it: an anchor operator whose inputs are inputs of the problem, and
/// a chain of pointwise steps over its (first) output. For a node that is not `fused` the anchor is
/// the node and the chain is empty.
struct AnchoredRegion {
  Operation anchor;
  std::vector<int> anchor_inputs;  ///< Problem input of each operand of the anchor; -1: absent.
  std::vector<RegionStep> steps;
  /// The node that standardizes the anchor's first operand, whose problem input is then the node's
  /// input; null where nothing does. Its moments are another input.
  const Node* standardize = nullptr;
  int moments_input = -1;
  const Node* moments = nullptr;  ///< Those of the first result, as a second one; null: none.
  /// The node that dequantizes the anchor's second operand, which is no problem input then; null
  /// where nothing does.
  const Node* dequantize = nullptr;
  const Node* quantize =
      nullptr;  ///< The node that quantizes the result behind all steps, or null.
  /// The gate behind all steps, or null: they work on twice as many columns as the result has.
  const GatedUnit* gate = nullptr;

  /// How many columns behind the anchor make one of the result.
  int64_t columns_of_result() const { return gate == nullptr ? 1 : 2; }
};

/// Parts of regions besides an anchor and its chain.
struct RegionExtras {
  /// Whose last member is a cast to the result's type, behind all of the steps: the type of the
  /// running value is then the operands', not the result's.
  bool cast = false;
  bool moments = false;  ///< Standardization in front, moments behind.
  /// Whose steps take values from before the last step.
  bool branches = false;
  bool dequantized = false;  ///< Whose anchor's second operand is dequantized in the region.
  bool quantized = false;    ///< Whose last member quantizes with one scale.
  bool gated = false;        ///< Whose last member is a gate.
};

/// Whether a step from number `rest` on takes a value from before that one.
bool reaches_before(const AnchoredRegion& region, size_t rest);

/// Fails (with the reason) when the region has no single anchor, or when its followers are no
/// chain. Regions with more than these are for callers that say so.
Result<AnchoredRegion> anchored_region(const Problem& problem, RegionExtras extras = {});

/// The extents of the values that the steps take and give.
Extents extents_of_steps(const Problem& problem, const AnchoredRegion& region);

/// Which input of the problem a value of a region's body is; -1 for computed values.
int input_number(const Value* value);

/// True for `fused` operations whose body is pointwise throughout (pointwise and cast), and for
/// such single nodes.
bool is_pointwise_region(const Operation& operation);

}  // namespace tenon
