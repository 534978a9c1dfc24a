#include "passes/rotary_parts.h"

#include <algorithm>

namespace tenon {
namespace {

using enum PointwiseFunction;

constexpr int kMaxDepth = 12;

int64_t rank_of(const Value* value) {
  return static_cast<int64_t>(value->type.shape.size());
}

/// The last extent, or -1 where it is not known.
int64_t width_of(const Value* value) {
  const Shape& shape = value->type.shape;
  return shape.empty() || !shape.back().is_constant() ? -1 : shape.back().constant();
}

bool is_last_axis(int64_t axis, const Value* value) {
  return axis == -1 || axis == rank_of(value) - 1;
}

struct Cut {
  int64_t begin = 0, end = 0, step = 1;
};

/// A slice along the last axis only.
std::optional<Cut> cut_of(const Node& node) {
  for (int i = 1; i < 4; ++i)
    if (!node.has_input(i) || node.input(i)->constant() == nullptr ||
        node.input(i)->constant()->count() != 1)
      return std::nullopt;
  if (node.has_input(4) && node.input(4)->constant() == nullptr) return std::nullopt;
  const int64_t width = width_of(node.input(0));
  if (!is_last_axis(node.input(3)->constant()->as_int64(0), node.input(0)) || width < 0)
    return std::nullopt;
  const auto place = [width](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + width : at, 0, width);
  };
  return Cut{place(node.input(1)->constant()->as_int64(0)),
             place(node.input(2)->constant()->as_int64(0)),
             node.has_input(4) ? node.input(4)->constant()->as_int64(0) : 1};
}

/// Which of the outputs of a split of the last axis.
std::optional<Cut> split_of(const Value* value) {
  const Node& node = *value->producer();
  if (!is_last_axis(node.as<Split>()->axis, node.input(0))) return std::nullopt;
  Cut cut;
  for (const Value* output : node.outputs()) {
    if (width_of(output) < 0) return std::nullopt;
    cut.end = cut.begin + width_of(output);
    if (output == value) return cut;
    cut.begin = cut.end;
  }
  return std::nullopt;
}

std::optional<Cut> any_cut_of(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (node->is<Slice>()) return cut_of(*node);
  return node->is<Split>() ? split_of(value) : std::nullopt;
}

/// Element 0 or 1 of the last axis of a value [..., n, 2], that axis dropped.
std::optional<HalfPart> pair_part_of(Value* value) {
  const Node* node = value->producer();
  Value* pairs = nullptr;
  int64_t index = -1;
  if (const auto* gather = node->as<Gather>()) {
    pairs = node->input(0);
    const Tensor* at = node->input(1)->constant();
    if (at == nullptr || at->rank() != 0 || !is_last_axis(gather->axis, pairs)) return std::nullopt;
    index = at->as_int64(0) < 0 ? at->as_int64(0) + 2 : at->as_int64(0);
  } else if (is_reshape(node)) {
    const auto cut = any_cut_of(node->input(0));
    if (!cut.has_value() || cut->end != cut->begin + 1) return std::nullopt;
    pairs = node->input(0)->producer()->input(0);
    index = cut->begin;
    const Shape& shape = pairs->type.shape;
    if (value->type.shape != Shape(shape.begin(), shape.end() - 1)) return std::nullopt;
  }
  if (pairs == nullptr || width_of(pairs) != 2 || rank_of(pairs) < 2) return std::nullopt;
  const Node* parted = pairs->producer();
  if (!is_reshape(parted)) return std::nullopt;
  Value* source = parted->input(0);
  Shape expected = pairs->type.shape;
  expected.pop_back();
  expected.back() = expected.back() * Dim(2);
  return source->type.shape == expected ? std::optional(HalfPart{source, true, index == 1})
                                        : std::nullopt;
}

/// An axis of extent 1 behind the others.
Value* without_last_axis(Value* value) {
  const Node* node = value->producer();
  if (!is_reshape(node) || width_of(value) != 1) return nullptr;
  const Shape& shape = value->type.shape;
  return node->input(0)->type.shape == Shape(shape.begin(), shape.end() - 1) ? node->input(0)
                                                                             : nullptr;
}

/// A constant whose second half is its first, or whose neighbours are equal.
bool repeats(const Tensor& tensor, bool interleaved) {
  const int64_t width = tensor.rank() == 0 ? 1 : tensor.extents().back(), half = width / 2;
  if (width % 2 != 0) return false;
  for (int64_t row = 0; row < tensor.count(); row += width)
    for (int64_t i = 0; i < half; ++i) {
      const int64_t a = row + (interleaved ? 2 * i : i), b = interleaved ? a + 1 : a + half;
      if (tensor.as_double(a) != tensor.as_double(b)) return false;
    }
  return true;
}

Value* half_constant(Graph& graph, const Value& value, bool interleaved) {
  const Tensor& tensor = *value.constant();
  Extents extents = tensor.extents();
  const int64_t width = extents.back();
  extents.back() = width / 2;
  Tensor half(tensor.type(), extents);
  for (int64_t i = 0; i < half.count(); ++i) {
    const int64_t row = i / (width / 2), at = i % (width / 2);
    half.set_from_double(i, tensor.as_double(row * width + (interleaved ? 2 * at : at)));
  }
  Value* result = graph.add_constant(std::move(half));
  result->type = {tensor.type(), to_shape(extents)};
  return result;
}

/// A slice along other axes than the last.
bool slices_rows(const Node& node) {
  if (!node.is<Slice>() || !node.has_input(3) || node.input(3)->constant() == nullptr) return false;
  const Value* const x = node.input(0);
  return rank_of(x) > 1 && width_of(x) == width_of(node.output()) &&
         std::ranges::none_of(node.input(3)->constant()->to_int64s(),
                              [&](int64_t axis) { return is_last_axis(axis, x); });
}

/// Operators that leave each row of their first operand by itself.
bool keeps_rows(const Node& node) {
  const Value *x = node.input(0), *y = node.output();
  if (node.is<Cast>() || slices_rows(node)) return true;
  if (node.is<Pointwise>())
    return node.inputs().size() == 1 ||
           (node.inputs().size() == 2 && scalar_of(node.input(1)).has_value() &&
            node.input(1)->constant()->count() == 1);
  if (const auto* transpose = node.as<Transpose>())
    return !transpose->permutation.empty() && transpose->permutation.back() == rank_of(x) - 1;
  if (const auto* gather = node.as<Gather>())
    return !is_last_axis(gather->axis, x) && rank_of(x) > 1 && width_of(x) == width_of(y);
  return is_reshape(&node) && width_of(x) > 1 && width_of(x) == width_of(y);
}

}  // namespace

std::optional<LastAxisRange> range_of_last_axis(Value* value) {
  const auto cut = any_cut_of(value);
  if (!cut.has_value() || cut->step != 1) return std::nullopt;
  return LastAxisRange{value->producer()->input(0), cut->begin, cut->end};
}

std::optional<HalfPart> half_part_of(Value* value) {
  if (value->producer() == nullptr) return std::nullopt;
  if (const auto cut = any_cut_of(value)) {
    Value* source = value->producer()->input(0);
    const int64_t width = width_of(source);
    if (width % 2 != 0) return std::nullopt;
    if (cut->step == 2 && cut->begin <= 1 && width_of(value) == width / 2)
      return HalfPart{source, true, cut->begin == 1};
    const bool second = cut->begin == width / 2;
    if (cut->step != 1 || cut->end - cut->begin != width / 2 || (cut->begin != 0 && !second))
      return std::nullopt;
    return HalfPart{source, false, second};
  }
  return pair_part_of(value);
}

std::optional<JoinedHalves> halves_of(Value* value) {
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  const bool interleaved = is_reshape(node);
  if (interleaved) {
    value = node->input(0);
    node = value->producer();
  }
  const auto* concat = node == nullptr ? nullptr : node->as<Concat>();
  if (concat == nullptr || node->inputs().size() != 2 || !is_last_axis(concat->axis, value))
    return std::nullopt;
  if (!interleaved) return JoinedHalves{node->input(0), node->input(1), false};
  Value *first = without_last_axis(node->input(0)), *second = without_last_axis(node->input(1));
  if (first == nullptr || second == nullptr) return std::nullopt;
  return JoinedHalves{first, second, true};
}

Value* unrepeated(Graph* graph, Value* value, bool interleaved, int depth) {
  if (depth > kMaxDepth || width_of(value) < 2) return nullptr;
  if (const Tensor* tensor = value->constant()) {
    if (!repeats(*tensor, interleaved)) return nullptr;
    return graph == nullptr ? value : half_constant(*graph, *value, interleaved);
  }
  if (const auto halves = halves_of(value);
      halves.has_value() && halves->interleaved == interleaved && halves->first == halves->second)
    return halves->first;
  Node* node = value->producer();
  if (node == nullptr || node->outputs().size() != 1 || !keeps_rows(*node)) return nullptr;
  Value* half = unrepeated(graph, node->input(0), interleaved, depth + 1);
  if (graph == nullptr || half == nullptr) return half;
  if (is_reshape(node)) {
    Shape shape = value->type.shape;
    shape.back() = Dim(width_of(value) / 2);
    return add_reshape(*graph, half, shape, *node);
  }
  std::vector<Value*> inputs = node->inputs();
  inputs[0] = half;
  return add_op(*graph, node->op->clone(), std::move(inputs), *node);
}

}  // namespace tenon
