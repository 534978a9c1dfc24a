#include "kernels/lines/lines.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"
#include "kernels/rows/rows.h"

namespace tenon::cpu {
namespace {

struct Bf16 {
  uint16_t bits;
};

float value_of(float x) {
  return x;
}
float value_of(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}
int64_t value_of(int32_t x) {
  return x;
}
int64_t value_of(int64_t x) {
  return x;
}

void assign(float& to, double value) {
  to = static_cast<float>(value);
}
void assign(Bf16& to, double value) {
  const auto single = static_cast<float>(value);
  const auto bits = __builtin_bit_cast(uint32_t, single);
  to.bits =
      static_cast<uint16_t>(single != single ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
void assign(int32_t& to, uint64_t value) {
  to = static_cast<int32_t>(value);
}
void assign(int64_t& to, uint64_t value) {
  to = static_cast<int64_t>(value);
}

/// Calls f with a null pointer of the element type.
template <class F> void with_type(LineType type, F f) {
  switch (type) {
    case LineType::f32: return f(static_cast<float*>(nullptr));
    case LineType::bf16: return f(static_cast<Bf16*>(nullptr));
    case LineType::i32: return f(static_cast<int32_t*>(nullptr));
    case LineType::i64: return f(static_cast<int64_t*>(nullptr));
  }
}

/// NaN counts as larger than every number.
template <class T> bool is_less(T a, T b) {
  if (a != a) return false;
  if (b != b) return true;
  return a < b;
}

/// Runs over pieces of at most `width` neighbouring lines: f(x offset, y offset, lines, worker).
template <class F> void for_lines(const LineProblem& p, int64_t width, ThreadPool& pool, F f) {
  const int64_t pieces = ceil_div(p.side.extent, width);
  int64_t count = pieces;
  for (const LineAxis& axis : p.outer) count *= axis.extent;
  const int64_t each = p.along.extent * std::min(width, p.side.extent);
  pool.for_each(count, std::max<int64_t>(1, 8192 / each), [&](int64_t task, int worker) {
    const int64_t first = task % pieces * width;
    int64_t place = task / pieces, from = first * p.side.x, to = first * p.side.y;
    for (size_t i = p.outer.size(); i-- > 0;) {
      from += place % p.outer[i].extent * p.outer[i].x;
      to += place % p.outer[i].extent * p.outer[i].y;
      place /= p.outer[i].extent;
    }
    f(from, to, std::min(width, p.side.extent - first), worker);
  });
}

template <class T> int64_t place_of_largest(const LineProblem& p, const T* x) {
  int64_t best = 0;
  for (int64_t i = 1; i < p.along.extent; ++i) {
    const auto candidate = value_of(x[i * p.along.x]), champion = value_of(x[best * p.along.x]);
    const bool better = p.largest ? is_less(champion, candidate) : is_less(candidate, champion);
    const bool worse = p.largest ? is_less(candidate, champion) : is_less(champion, candidate);
    if (better || (p.last_index && !worse)) best = i;
  }
  return best;
}

/// Contiguous lines: as kLinesTogether lines side by side, then the best of those.
template <class T>
int64_t place_in_row(const LineProblem& p, const LineFunctions& functions, const T* x) {
  const int64_t rows = p.along.extent / kLinesTogether;
  if (rows < 2) return place_of_largest(p, x);
  int64_t places[kLinesTogether];
  functions.largest(p.type == LineType::bf16, x, rows, kLinesTogether, kLinesTogether, p.largest,
                    p.last_index, places);
  int64_t best = places[0] * kLinesTogether;
  const auto consider = [&](int64_t at) {
    const auto candidate = value_of(x[at]), champion = value_of(x[best]);
    const bool better = p.largest ? is_less(champion, candidate) : is_less(candidate, champion);
    const bool worse = p.largest ? is_less(candidate, champion) : is_less(champion, candidate);
    if (better || (!worse && (p.last_index ? at > best : at < best))) best = at;
  };
  for (int64_t c = 1; c < kLinesTogether; ++c) consider(places[c] * kLinesTogether + c);
  for (int64_t at = rows * kLinesTogether; at < p.along.extent; ++at) consider(at);
  return best;
}

template <class T>
void largest_of(const LineProblem& p, const T* x, int64_t* places, ThreadPool& pool) {
  const LineFunctions& functions = line_functions(p.isa);
  // In the signed trick of the inner loop the smallest NaN is the largest: only the largest may
  // meet one there.
  const bool real = p.type == LineType::f32 || p.type == LineType::bf16;
  const bool together = real && p.largest && p.side.extent > 1 && p.side.x == 1;
  const bool row = real && p.largest && p.along.x == 1;
  for_lines(p, kLinesTogether, pool, [&](int64_t from, int64_t to, int64_t lines, int) {
    int64_t found[kLinesTogether];
    if (together)
      functions.largest(p.type == LineType::bf16, x + from, p.along.extent, p.along.x, lines,
                        p.largest, p.last_index, found);
    else
      for (int64_t c = 0; c < lines; ++c)
        found[c] = row ? place_in_row(p, functions, x + from + c * p.side.x)
                       : place_of_largest(p, x + from + c * p.side.x);
    for (int64_t c = 0; c < lines; ++c) places[to + c * p.side.y] = found[c];
  });
}

/// The order of top k: before(a, b) for places a and b of a line.
template <class T> auto order_of(const LineProblem& p, const T* x) {
  return [&p, x](int32_t a, int32_t b) {
    const auto left = value_of(x[a * p.along.x]), right = value_of(x[b * p.along.x]);
    if (p.largest ? is_less(right, left) : is_less(left, right)) return true;
    if (p.largest ? is_less(left, right) : is_less(right, left)) return false;
    return a < b;
  };
}

/// Contiguous numbers of which few are wanted: most are passed over by a look at the last of the
/// best so far.
template <class T>
void choose_few(const LineProblem& p, const LineFunctions& functions, const T* x, int32_t* order) {
  const auto before = order_of(p, x);
  std::iota(order, order + p.k, 0);
  std::make_heap(order, order + p.k, before);
  for (int64_t i = p.k; i < p.along.extent; ++i) {
    const auto limit = static_cast<float>(value_of(x[order[0]]));
    // Nothing comes before NaN.
    if (limit != limit) break;
    i = functions.first_above(p.type == LineType::bf16, x, i, p.along.extent, limit);
    if (i == p.along.extent) break;
    std::pop_heap(order, order + p.k, before);
    order[p.k - 1] = static_cast<int32_t>(i);
    std::push_heap(order, order + p.k, before);
  }
  std::sort_heap(order, order + p.k, before);
}

template <class T> void choose_any(const LineProblem& p, const T* x, int32_t* order) {
  std::iota(order, order + p.along.extent, 0);
  std::partial_sort(order, order + p.k, order + p.along.extent, order_of(p, x));
}

template <class T> void take_softmax(const LineProblem& p, const T* x, T* values) {
  const ElementType type = p.type == LineType::bf16 ? ElementType::bf16 : ElementType::f32;
  const RowFunctions& rows = row_functions(p.isa);
  const auto largest = p.largest ? static_cast<float>(value_of(values[0]))
                                 : rows.reduce(type, x, p.along.extent, RowReduction::max);
  rows.shares(type, x, p.along.extent, largest, values, p.k, p.log);
}

template <class T>
void top_of_line(const LineProblem& p, const T* x, T* values, int64_t* places, int32_t* order) {
  constexpr bool kReal = !std::is_integral_v<decltype(value_of(T{}))>;
  if (kReal && p.largest && p.along.x == 1 && p.k > 0 && 4 * p.k <= p.along.extent)
    choose_few(p, line_functions(p.isa), x, order);
  else
    choose_any(p, x, order);
  for (int64_t i = 0; i < p.k; ++i) {
    values[i * p.along.y] = x[order[i] * p.along.x];
    places[i * p.along.y] = order[i];
  }
  if constexpr (kReal)
    if (p.softmax) take_softmax(p, x, values);
}

size_t order_bytes(const LineProblem& p) {
  return worker_stride(static_cast<size_t>(p.along.extent) * sizeof(int32_t), p.threads);
}

/// Sum is double, or uint64, which wraps.
template <class Sum, class T>
void sums_of_lines(const LineProblem& p, const T* x, T* y, int64_t lines) {
  Sum totals[kLinesTogether];
  std::fill_n(totals, lines, p.product ? Sum(1) : Sum(0));
  for (int64_t step = 0; step < p.along.extent; ++step) {
    const int64_t i = p.reverse ? p.along.extent - 1 - step : step;
    const T* from = x + i * p.along.x;
    T* to = y + i * p.along.y;
    for (int64_t c = 0; c < lines; ++c) {
      const Sum before = totals[c], value = static_cast<Sum>(value_of(from[c * p.side.x]));
      totals[c] = p.product ? before * value : before + value;
      assign(to[c * p.side.y], p.exclusive ? before : totals[c]);
    }
  }
}

}  // namespace

void largest_places(const LineProblem& problem, const void* x, int64_t* places, ThreadPool& pool) {
  with_type(problem.type,
            [&]<class T>(T*) { largest_of(problem, static_cast<const T*>(x), places, pool); });
}

size_t top_k_scratch_bytes(const LineProblem& problem) {
  return order_bytes(problem) * static_cast<size_t>(problem.threads);
}

void top_k(const LineProblem& problem, const void* x, void* values, int64_t* places,
           ThreadPool& pool, void* scratch) {
  with_type(problem.type, [&]<class T>(T*) {
    for_lines(problem, 1, pool, [&](int64_t from, int64_t to, int64_t, int worker) {
      top_of_line(
          problem, static_cast<const T*>(x) + from, static_cast<T*>(values) + to, places + to,
          reinterpret_cast<int32_t*>(static_cast<char*>(scratch) + worker * order_bytes(problem)));
    });
  });
}

void running_sums(const LineProblem& problem, const void* x, void* y, ThreadPool& pool) {
  with_type(problem.type, [&]<class T>(T*) {
    using Sum = std::conditional_t<std::is_integral_v<decltype(value_of(T{}))>, uint64_t, double>;
    for_lines(problem, kLinesTogether, pool, [&](int64_t from, int64_t to, int64_t lines, int) {
      sums_of_lines<Sum>(problem, static_cast<const T*>(x) + from, static_cast<T*>(y) + to, lines);
    });
  });
}

}  // namespace tenon::cpu
