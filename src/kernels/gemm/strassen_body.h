#pragma once

#include "kernels/gemm/microkernel.h"

/// StrassenLoops over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class V> struct StrassenBody {
  /// f(at, load, store) for every vector of a row, the last one perhaps in part.
  template <class F> [[gnu::always_inline]] static void each(int64_t count, F f) {
    int64_t i = 0;
    for (; i + V::kWidth <= count; i += V::kWidth)
      f([i](const float* p) { return V::load(p + i); }, [i](V x, float* p) { x.store(p + i); });
    const int left = static_cast<int>(count - i);
    if (left > 0)
      f([=](const float* p) { return V::load(p + i, left); },
        [=](V x, float* p) { x.store(p + i, left); });
  }

  static void combine_a(const float* a11, const float* a12, const float* a21, const float* a22,
                        int64_t count, float* const (&to)[4]) {
    each(count, [&](auto load, auto store) {
      const V x11 = load(a11), x21 = load(a21);
      const V s1 = x21 + load(a22);
      const V s2 = s1 - x11;
      store(s1, to[0]);
      store(s2, to[1]);
      store(x11 - x21, to[2]);
      store(load(a12) - s2, to[3]);
    });
  }

  static void combine_c(const float* products, int64_t product_stride, int64_t row_stride,
                        int64_t rows, int64_t columns, const float* const (&bias)[2],
                        float* const (&to)[4], const int64_t (&to_stride)[4]) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = products + r * row_stride;
      const auto p = [&](int i) { return row + i * product_stride; };
      const auto out = [&](int i) { return to[i] + r * to_stride[i]; };
      each(columns, [&](auto load, auto store) {
        const V left = bias[0] ? load(bias[0]) : V::zero();
        const V right = bias[1] ? load(bias[1]) : V::zero();
        const V p1 = load(p(0)), p5 = load(p(4));
        const V u2 = p1 + load(p(5));
        const V u3 = u2 + load(p(6));
        store(p1 + load(p(1)) + left, out(0));
        store(u2 + p5 + load(p(2)) + right, out(1));
        store(u3 - load(p(3)) + left, out(2));
        store(u3 + p5 + right, out(3));
      });
    }
  }

  static constexpr StrassenLoops kLoops{combine_a, combine_c};
};

}  // namespace
}  // namespace tenon::cpu
