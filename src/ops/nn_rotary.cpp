#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Strides and sizes of x seen as batch, sequence, head, element.
struct RotarySizes {
  int64_t batch = 0, sequence = 0, heads = 0, size = 0, rotated = 0;
  bool sequence_first = false;  ///< [B,S,heads*size] instead of [B,heads,S,size].

  int64_t offset(int64_t b, int64_t s, int64_t h) const {
    const int64_t row =
        sequence_first ? (b * sequence + s) * heads + h : (b * heads + h) * sequence + s;
    return row * size;
  }
};

Result<RotarySizes> sizes_of(const RotaryEmbedding& op, const Extents& x, const Fail& fail) {
  RotarySizes sizes;
  if (x.size() == 3) {
    if (op.heads < 1 || x[2] % op.heads != 0)
      return fail("the number of heads must be given for rank 3 and divide {}", x[2]);
    sizes = {x[0], x[1], op.heads, x[2] / op.heads, 0, true};
  } else if (x.size() == 4) {
    sizes = {x[0], x[2], x[1], x[3], 0, false};
  } else {
    return fail("x needs a rank of 3 or 4");
  }
  sizes.rotated = op.rotary_dim == 0 ? sizes.size : op.rotary_dim;
  if (sizes.rotated < 0 || sizes.rotated > sizes.size || sizes.rotated % 2 != 0)
    return fail("{} elements of {} cannot be rotated in pairs", sizes.rotated, sizes.size);
  return sizes;
}

/// Row of the caches for every batch and position.
Result<std::vector<int64_t>> cache_rows(const EvalContext& context, const RotarySizes& sizes) {
  const int64_t places = sizes.batch * sizes.sequence;
  const int64_t half = sizes.rotated / 2;
  std::vector<int64_t> rows(static_cast<size_t>(places));
  for (int i = 1; i < 3; ++i)
    if (context.input(i).count() != context.input(1).count() || context.input(i).rank() < 2 ||
        context.input(i).extents().back() != half)
      return context.fail(fmt::format("the caches must have the same shape, ending in {}", half));
  const int64_t length = half == 0 ? 0 : context.input(1).count() / half;
  if (context.has_input(3)) {
    TENON_ASSIGN(rows, integers_of(context, 3));
  } else {
    // Caches of one sequence serve all of the batch.
    const bool shared = length == sizes.sequence && length != 0;
    for (int64_t i = 0; i < places; ++i) rows[i] = shared ? i % length : i;
  }
  if (static_cast<int64_t>(rows.size()) != places)
    return context.fail(fmt::format("{} position ids for {} positions", rows.size(), places));
  for (int64_t& row : rows) {
    if (half != 0 && (row < -length || row >= length))
      return context.fail(fmt::format("position {} is outside a cache of {}", row, length));
    if (row < 0) row += length;
  }
  return rows;
}

template <class T>
void rotate(const RotaryEmbedding& op, int64_t rotated, const T* cos, const T* sin, T* x) {
  const int64_t half = rotated / 2;
  for (int64_t i = 0; i < half; ++i) {
    T& a = x[op.interleaved ? 2 * i : i];
    T& b = x[op.interleaved ? 2 * i + 1 : i + half];
    const T real = cos[i] * a - sin[i] * b;
    b = sin[i] * a + cos[i] * b;
    a = real;
  }
}

}  // namespace

Status infer(const RotaryEmbedding& op, InferContext& context) {
  const int rank = context.rank(0);
  if (rank != 3 && rank != 4) return context.fail("x needs a rank of 3 or 4");
  if (rank == 3 && op.heads < 1)
    return context.fail("the number of heads must be given for x of rank 3");
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const RotaryEmbedding& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const RotarySizes sizes, sizes_of(op, x.extents(), context));
  TENON_ASSIGN(const auto rows, cache_rows(context, sizes));
  const int64_t half = sizes.rotated / 2;
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> from(x), cos(context.input(1)), sin(context.input(2));
    std::vector<T> y(from.data(), from.data() + from.size());
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t s = 0; s < sizes.sequence; ++s)
        for (int64_t h = 0; h < sizes.heads; ++h) {
          const int64_t row = rows[b * sizes.sequence + s] * half;
          rotate(op, sizes.rotated, cos.data() + row, sin.data() + row,
                 y.data() + sizes.offset(b, s, h));
        }
    return tensor_of_values(x.type(), x.extents(), y);
  }));
}

}  // namespace tenon
