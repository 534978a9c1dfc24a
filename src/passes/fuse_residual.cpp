// A normalization takes the sum in front of it along: residual and normalization in one pass over
// memory, which also gives the sum where it is used later. Must run after fuse_epilogue, which
// leaves it the sums that cost less here than in a product, and before fuse_pointwise.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/residual.h"

namespace tenon {
namespace {

constexpr size_t kMaxSums = 3;

/// A sum of the wanted type that this pass may change, or null.
Node* sum_behind(const Value* value, const TensorType& type, const PassContext& context) {
  Node* node = pointwise_producer(value, PointwiseFunction::k_add);
  return node != nullptr && value->type == type && context.allows_fusion(*node) ? node : nullptr;
}

/// The sums that come along, in order. All but the last are used inside only.
std::vector<Node*> sums_before(const Graph& graph, const Node& norm, const PassContext& context) {
  const TensorType& type = norm.input(0)->type;
  Node* last = sum_behind(norm.input(0), type, context);
  if (last == nullptr || graph.is_output(norm.input(0))) return {};
  // A region of the sum alone is none of a normalization.
  if (norm.output()->uses().empty() && !graph.is_output(norm.output())) return {};
  std::vector<Node*> sums = {last};
  for (size_t i = 0; i < sums.size() && sums.size() < kMaxSums; ++i)  // Grows while it runs.
    for (const Value* operand : sums[i]->inputs())
      if (Node* inner = sum_behind(operand, type, context);
          inner != nullptr && only_user(graph, operand) != nullptr && sums.size() < kMaxSums)
        sums.push_back(inner);
  std::reverse(sums.begin(), sums.end());
  return sums;
}

/// The normalization takes nothing that follows it into a region of its own.
bool ends_here(const Graph& graph, const Node& norm) {
  const Node* next = only_user(graph, norm.output());
  return next == nullptr || !next->is<Pointwise>() ||
         !(next->output()->type == norm.output()->type);
}

}  // namespace

bool normalizes_rows(const Node& node) {
  const auto* op = node.as<Normalization>();
  return op != nullptr && node.outputs().size() == 1 && op->over_rows();
}

bool waits_for_normalization(const Graph& graph, const Node& sum, const PassContext& context) {
  const PassOptions& options = context.options();
  if (options.sums_join_products || !is_function(sum, PointwiseFunction::k_add)) return false;
  // The kernel that computes both is for f32: a value that becomes a 16-bit type had better be
  // joined.
  if (options.precision.has_value()) return false;
  if (std::find(options.disabled.begin(), options.disabled.end(), "fuse_residual") !=
      options.disabled.end())
    return false;
  const TensorType& type = sum.output()->type;
  if (type.type != DataType::kFloat32 || graph.is_output(sum.output()) ||
      !(sum.input(0)->type == type && sum.input(1)->type == type))
    return false;
  const auto uses = sum.output()->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.index == 0 && normalizes_rows(*use.node) && context.allows_fusion(*use.node) &&
           ends_here(graph, *use.node);
  });
}

bool fuse_residual(Graph& graph, PassContext& context) {
  return join_around(graph, context, normalizes_rows, [&](Node& norm) {
    std::vector<Node*> members = sums_before(graph, norm, context);
    if (!members.empty()) members.push_back(&norm);
    return members;
  });
}

}  // namespace tenon
