#include "ops/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ops/body.h"

namespace tenon {
namespace {

/// Replaces extents of `carried` that differ from `next` by symbols, which `own` lists. True when
/// it changed one.
Result<bool> widen(InferContext& context, TensorType& carried, const TensorType& next, int index,
                   std::vector<Dim>& own) {
  if (carried.type != next.type || carried.shape.size() != next.shape.size())
    return context.fail(fmt::format("carried value {} changes from {}{} to {}{} in the body", index,
                                    name_of(carried.type), to_string(carried.shape),
                                    name_of(next.type), to_string(next.shape)));
  bool changed = false;
  for (size_t i = 0; i < carried.shape.size(); ++i) {
    if (carried.shape[i] == next.shape[i]) continue;
    // A symbol of our own covers every extent already; others are that of one value.
    if (std::ranges::find(own, carried.shape[i]) != own.end()) continue;
    carried.shape[i] = own.emplace_back(context.data_dependent(Dim(INT64_MAX)));
    changed = true;
  }
  return changed;
}

}  // namespace

Status infer_carried(InferContext& context, Graph& body, int node_first, int first, int body_first,
                     int count) {
  for (int i = 0; i < count; ++i) {
    pass_input(context, node_first + i, *body.inputs()[first + i]);
    body.inputs()[first + i]->elements.reset();
  }
  std::vector<Dim> own;
  bool changed = true;
  while (changed) {  // Ends: each round turns at least one extent into a symbol.
    TENON_TRY(infer_body(context, body));
    changed = false;
    for (int i = 0; i < count; ++i) {
      TENON_ASSIGN(const bool widened, widen(context, body.inputs()[first + i]->type,
                                             body.outputs()[body_first + i]->type, i, own));
      changed = changed || widened;
    }
  }
  return {};
}

void Stack::reverse() {
  std::reverse(slices_.begin(), slices_.end());
}

Result<Tensor> Stack::along(int64_t axis, const TensorType& type,
                            const EvalContext& context) const {
  const Tensor* first = slices_.empty() ? nullptr : &slices_[0];
  Extents extents;
  if (first != nullptr) {
    extents = first->extents();
  } else {
    for (const Dim& extent : type.shape)
      extents.push_back(extent.is_constant() ? extent.constant() : 0);
  }
  const auto rank = static_cast<int64_t>(extents.size()) + 1;
  if (axis < -rank || axis >= rank)
    return context.fail(
        fmt::format("axis {} of a scan output is outside [{}, {})", axis, -rank, rank));
  if (axis < 0) axis += rank;
  for (const Tensor& slice : slices_)
    if (slice.extents() != first->extents() || slice.type() != first->type())
      return context.fail("the slices of a scan output differ in shape");
  const int64_t outer = element_count({extents.begin(), extents.begin() + axis});
  extents.insert(extents.begin() + axis, static_cast<int64_t>(slices_.size()));
  Tensor stacked(first != nullptr ? first->type() : type.type, std::move(extents));
  const int64_t row = slices_.empty() || outer == 0 ? 0 : first->byte_count() / outer;
  if (row == 0) return stacked;
  const auto steps = static_cast<int64_t>(slices_.size());
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(stacked.mutable_bytes() + (i * steps + step) * row,
                  slices_[step].bytes() + i * row, row);
  return stacked;
}

Tensor slice_at(const Tensor& tensor, int axis, int64_t index) {
  Extents extents = tensor.extents();
  const int64_t steps = extents[axis];
  const int64_t outer = element_count({extents.begin(), extents.begin() + axis});
  extents.erase(extents.begin() + axis);
  Tensor slice(tensor.type(), std::move(extents));
  const int64_t row = outer == 0 ? 0 : slice.byte_count() / outer;
  for (int64_t i = 0; i < outer && row > 0; ++i)
    std::memcpy(slice.mutable_bytes() + i * row, tensor.bytes() + (i * steps + index) * row, row);
  return slice;
}

}  // namespace tenon
