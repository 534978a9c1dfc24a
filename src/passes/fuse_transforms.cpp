// Fourier transforms of real numbers read these alone, not complex ones whose imaginary parts are
// zeros. Where the device's kernels do so, transforms become regions with the casts around them,
// since they compute in f32 whatever their operands and results are, and with the choice of real
// parts behind them. Must run after lower_precision, which puts casts there, and before pointwise
// operators are joined.
#include <algorithm>
#include <cstddef>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/casts.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Zeros, however many these are.
bool is_zero(const Value* value) {
  if (produced_by<Expand>(value) != nullptr) return is_zero(value->producer()->input(0));
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  if (tensor == nullptr || !tensor->defined()) return false;
  return std::all_of(tensor->bytes(), tensor->bytes() + tensor->byte_count(),
                     [](std::byte byte) { return byte == std::byte{}; });
}

/// The real parts that `value` pairs with zeros, or null.
Value* real_parts(const Value* value) {
  const auto* concat = produced_by<Concat>(value);
  if (concat == nullptr) return nullptr;
  const Node& node = *value->producer();
  const auto rank = static_cast<int64_t>(value->type.shape.size());
  const bool pairs = node.inputs().size() == 2 && (concat->axis == rank - 1 || concat->axis == -1);
  if (!pairs || !is_zero(node.input(1))) return nullptr;
  const Dim& parts = node.input(0)->type.shape.back();
  return parts.is_constant() && parts.constant() == 1 ? node.input(0) : nullptr;
}

/// Lets a transform read real numbers without the zeros beside them.
bool drop_zeros(Graph& graph, Node& transform) {
  Value* value = transform.input(0);
  const Node* cast = widening(value);
  Value* real = real_parts(cast == nullptr ? value : cast->input(0));
  if (real == nullptr) return false;
  transform.set_input(0, cast == nullptr ? real : add_cast(graph, real, value->type.type));
  return true;
}

/// A slice of the first of two parts along the last axis.
bool takes_first_part(const Node& node) {
  if (!node.is<Slice>()) return false;
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const auto is = [&](int index, int64_t number) {
    return node.has_input(index) && node.input(index)->constant() != nullptr &&
           node.input(index)->constant()->to_int64s() == std::vector<int64_t>{number};
  };
  return is(1, 0) && is(2, 1) && (is(3, rank - 1) || is(3, -1)) && (!node.has_input(4) || is(4, 1));
}

/// The transform between a cast, a cast and the choice of real parts, as far as these are there.
std::vector<Node*> region_of(Graph& graph, Node& transform, const PassContext& context) {
  std::vector<Node*> members = {&transform};
  const auto follows = [&](const auto& wanted) {
    Node* next = only_user(graph, members.back()->output());
    if (next != nullptr && wanted(*next) && context.allows_fusion(*next)) members.push_back(next);
  };
  follows([](const Node& next) { return next.is<Cast>() && is_half(next.output()->type.type); });
  follows(takes_first_part);
  if (const Node* cast = widening(transform.input(0)); cast != nullptr) {
    // Others may read the result of the cast.
    Value* own = add_cast(graph, cast->input(0), DataType::kFloat32);
    transform.set_input(0, own);
    members.insert(members.begin(), own->producer());
  }
  return members;
}

}  // namespace

bool fuse_transforms(Graph& graph, PassContext& context) {
  const std::vector<Node*> transforms = fusible_nodes(graph, context, [](const Node& node) {
    return node.is<Dft>() && node.output()->type.type == DataType::kFloat32;
  });
  return for_each_of(transforms, [&](Node& transform) {
    const bool changed =
        drop_zeros(graph, transform) && context.applied(transform.name + " reads real numbers");
    if (!context.options().transform_regions) return changed;
    const std::vector<Node*> members = region_of(graph, transform, context);
    return members.size() == 1 ? changed : context.applied(make_region(graph, members)->name);
  });
}

}  // namespace tenon
