#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/gemm/microkernel.h"
#include "kernels/vector_math/activations.h"

/// The microkernel over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

namespace vm = vector_math;

/// Products of floats: one step of k is one broadcast element of A times vectors of B.
template <class V> struct FloatProduct {
  using Element = float;
  using Vector = V;
  static constexpr int kUnit = 1;
  using Register = V;
  [[gnu::always_inline]] static V broadcast(const float* a) { return V::broadcast(*a); }
  [[gnu::always_inline]] static V load(const float* b) { return V::load(b); }
  [[gnu::always_inline]] static V multiply_add(V a, V b, V c) { return fma(a, b, c); }
};

// Rows are addressed from every third one, so that 14 rows need five address registers and not 14.
template <class P, int R, int W, int kPanelVectors> struct TileKernel {
  using V = typename P::Vector;
  using E = typename P::Element;

  /// Columns of vector w that exist.
  [[gnu::always_inline]] static int lanes(const Tile& t, int w) {
    const int left = t.columns - w * V::kWidth;
    return left < 0 ? 0 : left > V::kWidth ? V::kWidth : left;
  }

  /// The right operand of a tile: a panel of B, the difference of two, or that kept for others too.
  enum class Source { panel, difference, kept_difference };

  template <Source kSource>
  [[gnu::always_inline]] static typename P::Register take(const E* b, int64_t minus, E* keep) {
    if constexpr (kSource == Source::panel) {
      return P::load(b);
    } else {
      const V difference = P::load(b) - P::load(b + minus);
      if (kSource == Source::kept_difference) difference.store(keep);
      return difference;
    }
  }

  template <Source kSource>
  [[gnu::always_inline]] static void product(const Tile& t, V (&acc)[R][W]) {
    constexpr int kGroups = (R + 2) / 3;
    const int64_t stride = t.a_stride;
    const E* row[kGroups];
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
      row[g] = static_cast<const E*>(t.a) + 3 * g * stride;
      asm("" : "+r"(row[g]));
    }
    const E* b = static_cast<const E*>(t.b);
    constexpr int kPanel = kPanelVectors * V::kWidth;
    const E* b2 = b + t.b_panel_stride;
    const char* ahead = static_cast<const char*>(t.prefetch);
    const int64_t ahead_step = t.prefetch_step;
    E* keep = static_cast<E*>(t.b_difference);
    const int64_t minus = kSource == Source::panel ? 0 : static_cast<const E*>(t.b_minus) - b;
    for (int64_t k = t.k; k > 0; --k) {
      typename P::Register column[W];
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) {
        constexpr int kHalf = kPanelVectors;
        const E* from =
            w < kHalf ? b + w * V::kWidth * P::kUnit : b2 + (w - kHalf) * V::kWidth * P::kUnit;
        column[w] = take<kSource>(from, minus, keep + w * V::kWidth);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const auto a = P::broadcast(row[r / 3] + (r % 3) * stride);
#pragma GCC unroll 8
        for (int w = 0; w < W; ++w) acc[r][w] = P::multiply_add(a, column[w], acc[r][w]);
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; ++g) row[g] += P::kUnit;
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
      b += kPanel * P::kUnit;
      b2 += kPanel * P::kUnit;
      if (kSource == Source::kept_difference) keep += kPanel;
    }
  }

  /// f(row, vector) for every vector of the tile, in registers.
  template <class F> [[gnu::always_inline]] static void each(F f) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) f(r, w);
  }

  // Parameters of a tile are read once, into locals: the compiler must assume that stores change
  // them.
  template <bool kFull> [[gnu::always_inline]] static void start(const Tile& t, V (&acc)[R][W]) {
    const float* from = t.initial;
    const int64_t stride = t.initial_stride;
    if (from == nullptr) return each([&](int r, int w) { acc[r][w] = V::zero(); });
    each([&](int r, int w) {
      const float* p = from + r * stride + w * V::kWidth;
      acc[r][w] = kFull ? V::load(p) : V::load(p, lanes(t, w));
    });
  }

  template <bool kFull>
  [[gnu::always_inline]] static void add_residual(const Tile& t, V (&acc)[R][W]) {
    const int64_t stride = t.residual_stride;
    if (t.output_type == ElementType::f32) {
      const float* from = static_cast<const float*>(t.residual);
      each([&](int r, int w) {
        const float* p = from + r * stride + w * V::kWidth;
        acc[r][w] = acc[r][w] + (kFull ? V::load(p) : V::load(p, lanes(t, w)));
      });
    } else {
      const uint16_t* from = static_cast<const uint16_t*>(t.residual);
      each([&](int r, int w) {
        const uint16_t* p = from + r * stride + w * V::kWidth;
        acc[r][w] = acc[r][w] + (kFull ? V::load_bf16(p) : V::load_bf16(p, lanes(t, w)));
      });
    }
  }

  template <bool kFull> [[gnu::always_inline]] static void store(const Tile& t, V (&acc)[R][W]) {
    const int64_t stride = t.output_stride;
    const int columns = t.columns;
    const auto count = [columns](int w) {
      return std::clamp(columns - w * V::kWidth, 0, V::kWidth);
    };
    if (t.output_type == ElementType::f32) {
      float* to = static_cast<float*>(t.output);
      each([&](int r, int w) {
        float* p = to + r * stride + w * V::kWidth;
        kFull ? acc[r][w].store(p) : acc[r][w].store(p, count(w));
      });
    } else {
      uint16_t* to = static_cast<uint16_t*>(t.output);
      each([&](int r, int w) {
        uint16_t* p = to + r * stride + w * V::kWidth;
        kFull ? acc[r][w].store_bf16(p) : acc[r][w].store_bf16(p, count(w));
      });
    }
  }

  [[gnu::always_inline]] static void activate(const Tile& t, V (&acc)[R][W]) {
    if (t.activation == RegisterActivation::clamp) {
      const V low = V::broadcast(t.low), high = V::broadcast(t.high);
      each([&](int r, int w) { acc[r][w] = max(low, acc[r][w]); });
      if (t.high == __builtin_inff()) return;  // ReLU: half of the work
      each([&](int r, int w) { acc[r][w] = min(high, acc[r][w]); });
    } else if (t.activation == RegisterActivation::hard_swish) {
      each([&](int r, int w) {
        acc[r][w] = vm::apply_unary(PointwiseFunction::k_hard_swish, acc[r][w], 0.0f, 0.0f);
      });
    }
  }

  template <bool kFull> [[gnu::always_inline]] static void finish(const Tile& t, V (&acc)[R][W]) {
    if (t.residual != nullptr) add_residual<kFull>(t, acc);
    activate(t, acc);
    store<kFull>(t, acc);
  }

  static void run(const Tile& t) {
    V acc[R][W];
    if (t.columns == W * V::kWidth) {
      start<true>(t, acc);
      product<Source::panel>(t, acc);
      finish<true>(t, acc);
    } else {
      start<false>(t, acc);
      product<Source::panel>(t, acc);
      finish<false>(t, acc);
    }
  }

  static void run_difference(const Tile& t) {
    V acc[R][W];
    start<true>(t, acc);
    if (t.b_difference == nullptr)
      product<Source::difference>(t, acc);
    else
      product<Source::kept_difference>(t, acc);
    finish<true>(t, acc);
  }
};

/// A vector and one of half as many columns beside it: padding of the panel is not multiplied where
/// vectors of the full width take two cycles. H is P over the narrower vectors.
template <class P, class H, int R, int kPanelVectors> struct HalfTileKernel {
  static constexpr int kWidth = P::Vector::kWidth, kPanel = kPanelVectors * kWidth;
  using Left = TileKernel<P, R, 1, kPanelVectors>;
  using Right = TileKernel<H, R, 1, kPanel / H::Vector::kWidth>;

  /// The columns behind the first vector.
  static Tile rest(const Tile& t) {
    Tile right = t;
    right.columns -= kWidth;
    const int64_t bytes =
        kWidth *
        static_cast<int64_t>(t.output_type == ElementType::f32 ? sizeof(float) : sizeof(uint16_t));
    right.output = static_cast<std::byte*>(t.output) + bytes;
    if (t.initial != nullptr) right.initial += kWidth;
    if (t.residual != nullptr) right.residual = static_cast<const std::byte*>(t.residual) + bytes;
    return right;
  }

  [[gnu::always_inline]] static void product(const Tile& t, typename P::Vector (&left)[R][1],
                                             typename H::Vector (&right)[R][1]) {
    constexpr int kGroups = (R + 2) / 3;
    const int64_t stride = t.a_stride;
    const float* row[kGroups];
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
      row[g] = static_cast<const float*>(t.a) + 3 * g * stride;
      asm("" : "+r"(row[g]));
    }
    const float* b = static_cast<const float*>(t.b);
    const char* ahead = static_cast<const char*>(t.prefetch);
    for (int64_t k = t.k; k > 0; --k) {
      const auto first = P::load(b);
      const auto second = H::load(b + kWidth);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const float* a = row[r / 3] + (r % 3) * stride;
        left[r][0] = P::multiply_add(P::broadcast(a), first, left[r][0]);
        right[r][0] = H::multiply_add(H::broadcast(a), second, right[r][0]);
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; ++g) ++row[g];
      __builtin_prefetch(ahead, 0, 2);
      ahead += t.prefetch_step;
      b += kPanel;
    }
  }

  template <bool kFull>
  [[gnu::always_inline]] static void run_as(const Tile& t, const Tile& other) {
    typename P::Vector left[R][1];
    typename H::Vector right[R][1];
    Left::template start<true>(t, left);
    Right::template start<kFull>(other, right);
    product(t, left, right);
    Left::template finish<true>(t, left);
    Right::template finish<kFull>(other, right);
  }

  static void run(const Tile& t) {
    const Tile other = rest(t);
    other.columns == H::Vector::kWidth ? run_as<true>(t, other) : run_as<false>(t, other);
  }
};

using TileFunction = void (*)(const Tile&);

/// Tables of kernels by rows: panels of two vectors, and two panels at once for few rows. H: P over
/// vectors of half the width, or void.
template <class P, int kMaxRows, int kWideRows, int kVectors, class H = void> struct TileTable {
  template <int... R> static void narrow(const Tile& t, std::integer_sequence<int, R...>) {
    static constexpr TileFunction kTable[] = {TileKernel<P, R + 1, kVectors, kVectors>::run...};
    kTable[t.rows - 1](t);
  }
  /// Where one vector holds all columns, the rest of the panel is padding.
  template <int... R> static void single(const Tile& t, std::integer_sequence<int, R...>) {
    static constexpr TileFunction kTable[] = {TileKernel<P, R + 1, 1, kVectors>::run...};
    kTable[t.rows - 1](t);
  }
  template <int... R> static void half(const Tile& t, std::integer_sequence<int, R...>) {
    constexpr int kHalves = kVectors * P::Vector::kWidth / H::Vector::kWidth;
    static constexpr TileFunction kTable[] = {TileKernel<H, R + 1, 1, kHalves>::run...};
    kTable[t.rows - 1](t);
  }
  template <int... R> static void one_and_half(const Tile& t, std::integer_sequence<int, R...>) {
    static constexpr TileFunction kTable[] = {HalfTileKernel<P, H, R + 1, kVectors>::run...};
    kTable[t.rows - 1](t);
  }
  /// Whether vectors of half the width are enough for the last columns.
  static bool run_with_half(const Tile& t) {
    if constexpr (!std::is_void_v<H>) {
      constexpr int kWidth = P::Vector::kWidth, kHalf = H::Vector::kWidth;
      const auto rows = std::make_integer_sequence<int, kMaxRows>();
      if (t.columns <= kHalf) return half(t, rows), true;
      if (t.columns > kWidth && t.columns <= kWidth + kHalf) return one_and_half(t, rows), true;
    }
    return false;
  }
  template <int... R> static void wide(const Tile& t, std::integer_sequence<int, R...>) {
    static constexpr TileFunction kTable[] = {TileKernel<P, R + 1, 2 * kVectors, kVectors>::run...};
    kTable[t.rows - 1](t);
  }
  template <int... R> static void difference(const Tile& t, std::integer_sequence<int, R...>) {
    static constexpr TileFunction kTable[] = {
        TileKernel<P, R + 1, kVectors, kVectors>::run_difference...};
    kTable[t.rows - 1](t);
  }
  /// run() for kernels with StrassenLoops.
  static void run_any(const Tile& t) {
    if (t.b_minus != nullptr)
      difference(t, std::make_integer_sequence<int, kMaxRows>());
    else
      run(t);
  }
  static void run(const Tile& t) {
    if (run_with_half(t)) return;
    if (t.columns <= P::Vector::kWidth)
      single(t, std::make_integer_sequence<int, kMaxRows>());
    else if (t.columns > kVectors * P::Vector::kWidth)
      wide(t, std::make_integer_sequence<int, kWideRows>());
    else
      narrow(t, std::make_integer_sequence<int, kMaxRows>());
  }
};

}  // namespace
}  // namespace tenon::cpu
