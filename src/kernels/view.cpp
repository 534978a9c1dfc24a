#include "kernels/view.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/strides.h"
#include "ops/ops.h"

namespace tenon {
namespace {

/// Plans are files, which may say of an operator's operands attributes that inference would refuse.
Error contradiction(std::string_view what) {
  return unsupported("the {} contradicts its operands", what);
}

/// The elements between the first and the last one of a view, both counted.
Result<int64_t> span_of(const Extents& extents, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t way = 0;
    if (__builtin_mul_overflow(extents[i] - 1, strides[i], &way) ||
        __builtin_add_overflow(last, way, &last))
      return contradiction("view");
  }
  return last + 1;
}

/// Strides of the same elements under other extents: every group of input axes that merges into a
/// group of output axes must be contiguous in itself.
Result<View> reshape_view(const Operand& input, const Extents& extents) {
  const std::vector<int64_t> strides = strides_of(input);
  std::vector<std::pair<int64_t, int64_t>>
      runs;  // Extent and stride of merged input axes, fastest last.
  runs.reserve(strides.size());
  for (size_t i = 0; i < strides.size(); ++i) {
    if (input.extents[i] == 1) continue;
    if (!runs.empty() && runs.back().second == strides[i] * input.extents[i])
      runs.back() = {runs.back().first * input.extents[i], strides[i]};
    else
      runs.emplace_back(input.extents[i], strides[i]);
  }
  if (element_count(extents) != element_count(input.extents)) return contradiction("reshape");
  View view;
  view.strides.assign(extents.size(), 1);
  int run = static_cast<int>(runs.size()) - 1;
  int64_t left = run >= 0 ? runs[run].first : 1;
  int64_t stride = run >= 0 ? runs[run].second : 1;
  for (int i = static_cast<int>(extents.size()) - 1; i >= 0; --i) {
    if (extents[i] == 1) continue;
    if (left == 1 && run > 0) {
      --run;
      left = runs[run].first;
      stride = runs[run].second;
    }
    if (extents[i] == 0 || left % extents[i] != 0)
      return unsupported("the reshape mixes axes that are not contiguous");
    view.strides[i] = stride;
    stride *= extents[i];
    left /= extents[i];
  }
  return view;
}

Result<View> transpose_view(const Transpose& op, const Operand& input) {
  const std::vector<int64_t> strides = strides_of(input);
  const int rank = static_cast<int>(strides.size());
  const auto& order = op.permutation;
  if (!order.empty() && (std::ssize(order) != rank || *std::ranges::min_element(order) < 0 ||
                         *std::ranges::max_element(order) >= rank))
    return contradiction("transpose");
  View view;
  view.strides.reserve(strides.size());
  for (int i = 0; i < rank; ++i)
    view.strides.push_back(strides[op.permutation.empty() ? rank - 1 - i : op.permutation[i]]);
  return view;
}

Result<View> slice_view(const Operand& input, const Extents& extents,
                        std::span<const Tensor* const> contents) {
  auto known = [&](size_t i) { return i < contents.size() ? contents[i] : nullptr; };
  if (known(1) == nullptr || (contents.size() > 3 && known(3) == nullptr) ||
      (contents.size() > 4 && known(4) == nullptr))
    return unsupported("the bounds of the slice are not known");
  const std::vector<int64_t> starts = known(1)->to_int64s();
  View view;
  view.strides = strides_of(input);
  const int64_t rank = input.rank();
  for (const size_t other : {3, 4})
    if (known(other) != nullptr && known(other)->count() != std::ssize(starts))
      return contradiction("slice");
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis =
        known(3) == nullptr ? static_cast<int64_t>(i) : known(3)->as_int64(static_cast<int64_t>(i));
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= std::min<int64_t>(rank, std::ssize(extents)))
      return contradiction("slice");
    const int64_t step = known(4) == nullptr ? 1 : known(4)->as_int64(static_cast<int64_t>(i));
    if (step < 1) return unsupported("the slice runs backwards");
    const int64_t extent = input.extents[axis];
    int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    start = std::clamp<int64_t>(start, 0, extent);
    const int64_t stride = view.strides[axis];
    if (extents[axis] == 0) return unsupported("the slice is empty");
    if (__builtin_mul_overflow(view.strides[axis], step, &view.strides[axis]))
      return contradiction("slice");
    view.offset += start * stride;
  }
  return view;
}

Result<View> split_view(const Split& op, const Operation& node, int output, const Operand& input,
                        const Extents& extents, const Tensor* sizes) {
  View view;
  view.strides = strides_of(input);
  const int64_t axis = op.axis < 0 ? op.axis + input.rank() : op.axis;
  if (node.has_input(1) && sizes == nullptr)
    return unsupported("the sizes of the split are not known");
  if (axis < 0 || axis >= input.rank() || (sizes != nullptr && sizes->count() < output))
    return contradiction("split");
  const int64_t parts = static_cast<int64_t>(node.output_count());
  const int64_t equal = ceil_div(input.extents[axis], parts);
  int64_t start = 0;
  for (int i = 0; i < output; ++i) start += sizes != nullptr ? sizes->as_int64(i) : equal;
  // An empty part may lie behind the end.
  if (element_count(extents) > 0) view.offset = start * view.strides[axis];
  return view;
}

Result<View> expand_view(const Operand& input, const Extents& extents) {
  const std::vector<int64_t> strides = strides_of(input);
  if (extents.size() < strides.size()) return contradiction("expansion");
  View view;
  view.strides.assign(extents.size(), 0);
  const size_t skipped = extents.size() - strides.size();
  for (size_t i = 0; i < strides.size(); ++i)
    if (input.extents[i] == extents[skipped + i]) view.strides[skipped + i] = strides[i];
  return view;
}

Result<View> any_view(const Operation& node, int output, const Operand& input,
                      const Extents& extents, std::span<const Tensor* const> contents) {
  if (node.is<Identity>() || node.is<Reformat>()) return View{0, strides_of(input)};
  if (node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() || node.is<Unsqueeze>())
    return reshape_view(input, extents);
  if (const auto* transpose = node.as<Transpose>()) return transpose_view(*transpose, input);
  if (node.is<Slice>()) return slice_view(input, extents, contents);
  if (const auto* split = node.as<Split>())
    return split_view(*split, node, output, input, extents,
                      contents.size() > 1 ? contents[1] : nullptr);
  if (node.is<Expand>()) return expand_view(input, extents);
  return unsupported("{} computes", node.name());
}

}  // namespace

/// A view of elements that the input has.
Result<View> input_view(const Operation& node, int output, const Operand& input,
                        const Extents& extents, std::span<const Tensor* const> contents) {
  TENON_ASSIGN(View view, any_view(node, output, input, extents, contents));
  if (view.strides.size() != extents.size()) return contradiction("rank of the output");
  if (element_count(extents) == 0) return view;
  TENON_ASSIGN(const int64_t size, span_of(extents, view.strides));
  TENON_ASSIGN(const int64_t most, span_of(input.extents, strides_of(input)));
  if (view.offset < 0 || size > most || view.offset > most - size)
    return contradiction("shape of the output");
  return view;
}

std::vector<int64_t> normalized_strides(const Extents& extents, const std::vector<int64_t>& strides,
                                        Layout layout) {
  const bool channels_last = layout == Layout::kChannelsLast && extents.size() >= 3;
  int64_t dense = channels_last ? extents[1] : 1;
  if (channels_last && extents[1] != 1 && strides[1] != 1) return strides;
  for (size_t i = extents.size(); i-- > 0;) {
    if (channels_last && i == 1) continue;
    if (extents[i] != 1 && strides[i] != dense) return strides;
    dense *= extents[i];
  }
  return {};
}

Result<View> make_view(const Node& node, int output, const Operand& input, const Extents& extents,
                       std::span<const Tensor* const> contents) {
  if (element_count(extents) == 0) return unsupported("the output is empty");
  TENON_ASSIGN(View view, input_view(node, output, input, extents, contents));
  view.strides = normalized_strides(extents, view.strides, node.output(output)->type.layout);
  if (node.is<Reformat>() && !view.strides.empty()) return unsupported("the layouts differ");
  return view;
}

}  // namespace tenon
