// Operators whose output extents depend on the data.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/element.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// A tensor as a row of slices along an axis; flattened: of single elements.
struct Slices {
  int64_t outer = 1, count = 0, run = 1;
};

Result<Slices> slices_of(const Tensor& x, bool flat, int64_t along, const Fail& fail) {
  if (flat) return Slices{1, x.count(), 1};
  TENON_ASSIGN(const int axis, resolve_axis(along, x.rank(), fail));
  return Slices{count_between(x.extents(), 0, axis), x.extents()[axis],
                count_between(x.extents(), axis + 1, x.rank())};
}

/// The chosen slices, in order.
void pick(const Tensor& x, const Slices& slices, const std::vector<int64_t>& chosen, Tensor& y) {
  const int64_t run = slices.run * byte_size(x.type());
  std::byte* to = y.mutable_bytes();
  for (int64_t o = 0; o < slices.outer; ++o)
    for (const int64_t index : chosen) {
      std::memcpy(to, x.bytes() + (o * slices.count + index) * run, static_cast<size_t>(run));
      to += run;
    }
}

Result<Extents> picked_extents(const Tensor& x, bool flat, int64_t along, int64_t count,
                               const Fail& fail) {
  if (flat) return Extents{count};
  TENON_ASSIGN(const int axis, resolve_axis(along, x.rank(), fail));
  Extents extents = x.extents();
  extents[axis] = count;
  return extents;
}

template <class T> int compare(T a, T b) {
  if (a < b) return -1;
  if (b < a) return 1;
  // NaN comes last and equals itself.
  return static_cast<int>(a != a) - static_cast<int>(b != b);
}

/// Orders two slices element by element.
int compare_slices(const Tensor& x, const Slices& slices, int64_t a, int64_t b) {
  return with_element(x.type(), [&](auto element) {
    using E = decltype(element);
    const auto* values = reinterpret_cast<const typename E::Storage*>(x.bytes());
    for (int64_t o = 0; o < slices.outer; ++o) {
      const auto* at_a = values + (o * slices.count + a) * slices.run;
      const auto* at_b = values + (o * slices.count + b) * slices.run;
      for (int64_t i = 0; i < slices.run; ++i)
        if (const int order = compare(E::load(at_a[i]), E::load(at_b[i])); order != 0) return order;
    }
    return 0;
  });
}

/// Groups of equal slices.
struct Groups {
  std::vector<int64_t> first, inverse, counts;
};

Groups group(const Tensor& x, const Slices& slices, bool sorted) {
  std::vector<int64_t> order(slices.count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare_slices(x, slices, a, b) < 0; });
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare_slices(x, slices, order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[order[i]] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  // In order of first appearance.
  std::vector<int64_t> by_place(groups.first.size()), rank(groups.first.size());
  std::iota(by_place.begin(), by_place.end(), 0);
  std::sort(by_place.begin(), by_place.end(),
            [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Groups result{{}, std::move(groups.inverse), {}};
  for (size_t i = 0; i < by_place.size(); ++i) {
    rank[by_place[i]] = static_cast<int64_t>(i);
    result.first.push_back(groups.first[by_place[i]]);
    result.counts.push_back(groups.counts[by_place[i]]);
  }
  for (int64_t& index : result.inverse) index = rank[index];
  return result;
}

bool is_set(const Tensor& tensor, int64_t index) {
  return with_element(tensor.type(), [&](auto element) {
    using E = decltype(element);
    const auto* values = reinterpret_cast<const typename E::Storage*>(tensor.bytes());
    return E::load(values[index]) != typename E::Compute(0);
  });
}

}  // namespace

Status infer(const Compress& op, InferContext& context) {
  const Shape& x = context.shape(0);
  TENON_TRY(expect_rank(context.shape(1), 1, "the condition", context));
  Shape shape = op.flat ? Shape{product(x)} : x;
  int axis = 0;
  if (!op.flat) {
    TENON_ASSIGN(axis, resolve_axis(op.axis, context.rank(0), context));
  }
  shape[axis] = context.data_dependent(lesser(shape[axis], context.shape(1)[0], context));
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Compress& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& condition = context.input(1);
  TENON_ASSIGN(const Slices slices, slices_of(x, op.flat, op.axis, context));
  std::vector<int64_t> chosen;
  const int64_t length = condition.count();
  for (int64_t i = 0; i < std::min(length, slices.count); ++i)
    if (is_set(condition, i)) chosen.push_back(i);
  TENON_ASSIGN(const Extents extents,
               picked_extents(x, op.flat, op.axis, static_cast<int64_t>(chosen.size()), context));
  pick(x, slices, chosen, context.make_output(0, x.type(), extents));
  return {};
}

Status infer(const NonZero&, InferContext& context) {
  const Dim count = context.data_dependent(product(context.shape(0)));
  return context.finish(DataType::kInt64, {context.rank(0), count});
}

Status evaluate(const NonZero&, EvalContext& context) {
  const Tensor& x = context.input(0);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.count(); ++i)
    if (is_set(x, i)) found.push_back(i);
  const auto count = static_cast<int64_t>(found.size());
  Tensor& y = context.make_output(0, DataType::kInt64, {x.rank(), count});
  auto values = y.mutable_values<int64_t>();
  const Strides strides = row_major_strides(x.extents());
  for (int axis = 0; axis < x.rank(); ++axis)
    for (int64_t i = 0; i < count; ++i)
      values[axis * count + i] = found[i] / strides[axis] % x.extents()[axis];
  return {};
}

Status infer(const Unique& op, InferContext& context) {
  Shape shape = op.flat ? Shape{product(context.shape(0))} : context.shape(0);
  int axis = 0;
  if (!op.flat) {
    TENON_ASSIGN(axis, resolve_axis(op.axis, context.rank(0), context));
  }
  const Dim total = shape[axis];
  const Dim count = context.data_dependent(total);
  shape[axis] = count;
  context.set_output(0, context.input(0).type, std::move(shape));
  const Shape others[] = {{count}, {total}, {count}};
  for (int i = 1; i < context.output_count(); ++i)
    context.set_output(i, DataType::kInt64, others[i - 1]);
  return {};
}

Status evaluate(const Unique& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Slices slices, slices_of(x, op.flat, op.axis, context));
  const Groups groups = group(x, slices, op.sorted);
  const auto count = static_cast<int64_t>(groups.first.size());
  TENON_ASSIGN(const Extents extents, picked_extents(x, op.flat, op.axis, count, context));
  pick(x, slices, groups.first, context.make_output(0, x.type(), extents));
  const std::vector<int64_t>* others[] = {&groups.first, &groups.inverse, &groups.counts};
  for (int i = 1; i < context.output_count(); ++i)
    context.set_output(i, Tensor::vector_i64(*others[i - 1]));
  return {};
}

}  // namespace tenon
