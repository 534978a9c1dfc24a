#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/nn_window.h"
#include "ops/reals.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

WindowAttributes attributes_of(const Pool& op) {
  return {op.strides, op.dilations, op.pads_begin, op.pads_end, op.pad_mode, op.ceil_mode};
}

Result<Shape> pooled_shape(const Pool& op, const Shape& x, const Fail& fail) {
  if (x.size() < 3) return fail("x needs a rank of at least 3: [N,C,...]");
  if (op.function == PoolFunction::kLp && op.p < 1) return fail("p is {}", op.p);
  TENON_ASSIGN(const Shape spatial,
               window_output(attributes_of(op), Shape(x.begin() + 2, x.end()), op.kernel, fail));
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

/// How many places of the window at position p count for an average: those inside the input, or
/// also those in the given padding (but not padding that rounding up adds).
int64_t counted(const SlidingWindow& w, int64_t p, bool with_padding) {
  const Strides strides = row_major_strides(w.output);
  int64_t count = 1;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t start = p / strides[i] % w.output[i] * w.strides[i] - w.begin[i];
    const int64_t low = with_padding ? -w.begin[i] : 0;
    const int64_t high = w.input[i] + (with_padding ? w.end[i] : 0);
    int64_t inside = 0;
    for (int64_t k = 0; k < w.kernel[i]; ++k) {
      const int64_t at = start + k * w.dilations[i];
      inside += at >= low && at < high ? 1 : 0;
    }
    count *= inside;
  }
  return count;
}

/// The place of a spatial offset in ONNX's order of indices.
int64_t index_of(int64_t offset, const Extents& input, bool column_major) {
  if (!column_major) return offset;
  const Strides strides = row_major_strides(input);
  int64_t index = 0, step = 1;
  for (size_t i = 0; i < input.size(); ++i) {
    index += offset / strides[i] % input[i] * step;
    step *= input[i];
  }
  return index;
}

/// Sizes of one pooling and its tables.
struct PoolTables {
  int64_t channels, pixels, positions, kernel;
  std::vector<int64_t> offsets, counts;
};

template <class T> void max_pool(const PoolTables& t, const T* x, T* y, int64_t* indices) {
  for (int64_t p = 0; p < t.positions; ++p) {
    int64_t best = -1;
    for (int64_t k = 0; k < t.kernel; ++k) {
      const int64_t offset = t.offsets[k * t.positions + p];
      if (offset >= 0 && (best < 0 || x[offset] > x[best] || x[offset] != x[offset])) {
        best = offset;
        if (x[offset] != x[offset]) break;
      }
    }
    y[p] = best >= 0 ? x[best] : std::numeric_limits<T>::lowest();
    indices[p] = best;
  }
}

template <class T> void sum_pool(const Pool& op, const PoolTables& t, const T* x, T* y) {
  const bool average = op.function == PoolFunction::kAverage;
  const T power = static_cast<T>(op.p);
  std::fill_n(y, t.positions, T(0));
  for (int64_t k = 0; k < t.kernel; ++k)
    for (int64_t p = 0; p < t.positions; ++p) {
      const int64_t offset = t.offsets[k * t.positions + p];
      if (offset < 0) continue;
      y[p] += average ? x[offset] : std::pow(std::abs(x[offset]), power);
    }
  for (int64_t p = 0; p < t.positions; ++p)
    y[p] = average ? y[p] / static_cast<T>(t.counts[p]) : std::pow(y[p], T(1) / power);
}

template <class T>
void pool(const Pool& op, const PoolTables& t, const SlidingWindow& window, EvalContext& context,
          Extents extents) {
  const Tensor& x = context.input(0);
  const Values<T> values(x);
  std::vector<T> y(static_cast<size_t>(t.channels * t.positions));
  std::vector<int64_t> indices(y.size());
  for (int64_t c = 0; c < t.channels; ++c) {
    const T* image = values.data() + c * t.pixels;
    if (op.function != PoolFunction::kMax) {
      sum_pool(op, t, image, y.data() + c * t.positions);
      continue;
    }
    int64_t* at = indices.data() + c * t.positions;
    max_pool(t, image, y.data() + c * t.positions, at);
    for (int64_t p = 0; p < t.positions && context.output_count() > 1; ++p)
      if (at[p] >= 0) at[p] = c * t.pixels + index_of(at[p], window.input, op.column_major_indices);
  }
  if (context.output_count() > 1)
    context.set_output(1, Tensor::of<int64_t>(DataType::kInt64, extents, indices));
  context.set_output(0, tensor_of_values(x.type(), std::move(extents), y));
}

/// Extents before pooling, from those after it.
Result<Shape> unpooled_shape(const MaxUnpool& op, const Shape& x, const Fail& fail) {
  if (x.size() < 3) return fail("x needs a rank of at least 3: [N,C,...]");
  const size_t n = x.size() - 2;
  const auto strides = or_all(op.strides, n, 1), begin = or_all(op.pads_begin, n, 0);
  const auto end = or_all(op.pads_end, n, 0);
  for (const std::vector<int64_t>* list : {&op.kernel, &strides, &begin, &end})
    if (list->size() != n) return fail("{} numbers for {} spatial axes", list->size(), n);
  Shape shape{x[0], x[1]};
  for (size_t i = 0; i < n; ++i)
    shape.push_back((x[i + 2] - 1) * strides[i] + (op.kernel[i] - begin[i] - end[i]));
  return shape;
}

}  // namespace

Status infer(const Pool& op, InferContext& context) {
  if (context.output_count() > 1 && op.function != PoolFunction::kMax)
    return context.fail("only max pooling gives indices");
  TENON_ASSIGN(Shape shape, pooled_shape(op, context.shape(0), context));
  if (context.output_count() > 1) context.set_output(1, DataType::kInt64, shape);
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Pool& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape shape, pooled_shape(op, shape_of(x), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const Extents spatial(x.extents().begin() + 2, x.extents().end());
  TENON_ASSIGN(const SlidingWindow window,
               resolve_window(attributes_of(op), spatial, op.kernel, context));
  PoolTables tables{extents[0] * extents[1],
                    element_count(spatial),
                    element_count(window.output),
                    element_count(op.kernel),
                    {},
                    {}};
  tables.offsets = window_offsets(window, 0, tables.positions);
  for (int64_t p = 0; p < tables.positions && op.function == PoolFunction::kAverage; ++p)
    tables.counts.push_back(counted(window, p, op.count_include_pad));
  const bool wide =
      x.type() == DataType::kFloat64 || (is_integer(x.type()) && byte_size(x.type()) >= 4);
  if (wide)
    pool<double>(op, tables, window, context, extents);
  else
    pool<float>(op, tables, window, context, extents);
  return {};
}

Status infer(const MaxUnpool& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, unpooled_shape(op, context.shape(0), context));
  if (context.has_input(2)) {
    if (const auto given = context.elements(2)) {
      TENON_TRY(expect_rank(*given, context.rank(0), "the output shape", context));
      shape = *given;
    } else {
      for (size_t i = 2; i < shape.size(); ++i) shape[i] = context.data_dependent(kUnbounded);
    }
  }
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const MaxUnpool& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape pooled, unpooled_shape(op, shape_of(x), context));
  TENON_ASSIGN(Extents extents, concrete(pooled, context));
  const Extents natural = extents;
  if (context.has_input(2)) {
    TENON_ASSIGN(const auto given, integers_of(context, 2));
    TENON_TRY(expect_rank(to_shape(given), x.rank(), "the output shape", context));
    TENON_ASSIGN(extents, concrete(to_shape(given), context));
  }
  TENON_ASSIGN(const auto indices, integers_of(context, 1));
  if (static_cast<int64_t>(indices.size()) != x.count())
    return context.fail("x and its indices differ in size");
  Tensor& y = context.make_output(0, x.type(), extents);
  const int bytes = byte_size(x.type());
  std::fill_n(y.mutable_bytes(), y.byte_count(), std::byte{0});
  // Indices count in the natural extents; a larger given shape leaves room behind.
  const Strides from = row_major_strides(natural), to = row_major_strides(extents);
  const int64_t limit = element_count(natural);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t index = indices[i];
    int64_t at = 0;
    bool inside = index >= 0 && index < limit;
    for (size_t a = 0; a < natural.size() && inside; ++a) {
      const int64_t place = index / from[a] % natural[a];
      inside = place < extents[a];
      at += place * to[a];
    }
    if (!inside) return context.fail(fmt::format("index {} is outside the output", index));
    std::copy_n(x.bytes() + i * bytes, bytes, y.mutable_bytes() + at * bytes);
  }
  return {};
}

}  // namespace tenon
