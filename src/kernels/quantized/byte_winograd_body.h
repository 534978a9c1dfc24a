#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/quantized/byte_winograd_kernel.h"

/// ByteWinogradFunctions over any set of vectors; included by one source an instruction set.
namespace tenon::cpu {
namespace {

/// Along an axis of kTile pixels: numbers of the points from kTile + 2 neighbours, and, from sums,
/// kTile pixels, three times 2^shift too large. Points that a smaller tile has none of stay as they
/// are.
template <int kTile> struct ByteWinogradAxis;

template <> struct ByteWinogradAxis<2> {
  static constexpr bool kHas[] = {true, true, true, false, false, true};
  static constexpr int kOnes = 2;  ///< The number of point 1 where all pixels are 1.
  static constexpr int kShift[] = {1, 1};
  template <class V> [[gnu::always_inline]] static void input(const V* x, V* y) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[5] = x[3] - x[1];
  }
  template <class V> [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V even = x[1] + x[2], odd = x[1] - x[2];
    y[0] = x[0] + (even + even.template shifted<1>());
    y[1] = x[5] + (odd + odd.template shifted<1>());
  }
};

template <> struct ByteWinogradAxis<3> {
  static constexpr bool kHas[] = {true, true, true, true, false, true};
  static constexpr int kOnes = -2;  ///< The number of point 1 where all pixels are 1.
  static constexpr int kShift[] = {2, 1, 1};
  template <class V> [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V odd = x[3] - x[1], one = x[1].template shifted<1>(), three = x[3] - x[2];
    y[0] = (x[0] - x[2]).template shifted<1>() + odd;
    y[1] = three - one;
    y[2] = three - x[2].template shifted<1>() + one;
    y[3] = odd;
    y[5] = x[4] - x[2] - odd.template shifted<1>();
  }
  template <class V> [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V one = x[1] + x[1].template shifted<1>(), two = x[3].template shifted<1>();
    const V even = x[2] + one, odd = x[2] - one;
    y[0] = x[0] + two - even.template shifted<1>();
    y[1] = two + odd;
    y[2] = two.template shifted<1>() - even + x[5];
  }
};

template <> struct ByteWinogradAxis<4> {
  static constexpr bool kHas[] = {true, true, true, true, true, true};
  static constexpr int kOnes = -6;  ///< The number of point 1 where all pixels are 1.
  static constexpr int kShift[] = {3, 2, 1, 1};
  template <class V> [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V even1 = x[4] - x[2].template shifted<2>(), odd1 = x[3] - x[1].template shifted<2>();
    const V even2 = x[4] - x[2], odd2 = (x[3] - x[1]).template shifted<1>();
    y[0] = even2 + (x[0] - x[2]).template shifted<2>();
    y[1] = even1 + odd1;
    y[2] = even1 - odd1;
    y[3] = even2 + odd2;
    y[4] = even2 - odd2;
    y[5] = x[5] - x[3] - odd2.template shifted<1>();
  }
  template <class V> [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V even1 = x[1] + x[2], odd1 = x[1] - x[2];
    const V even2 = x[3] + x[4], odd2 = x[3] - x[4];
    y[0] = x[0] + even2 - even1.template shifted<2>();
    y[1] = odd2 - odd1.template shifted<1>();
    y[2] = even2 - even1;
    y[3] = odd2.template shifted<1>() + x[5] - odd1;
  }
};

/// P gives Short and Long, vectors of 16 and of 32 bits with +, - and shifted(), and
/// multiply_add().
template <class P> struct ByteWinogradBody {
  using Short = typename P::Short;
  using Long = typename P::Long;

  template <bool kSigned, int kHigh, int kWide> static void input(const ByteWinogradInput& t) {
    int64_t c = 0;
    for (; c + Short::kWidth <= t.channels; c += Short::kWidth)
      channels<kHigh, kWide>(t, c, [&](int64_t at) [[gnu::always_inline]] {
        return P::template bytes<kSigned>(t.pixels + at);
      });
    if (c == t.channels) return;
    channels<kHigh, kWide>(t, c, [&](int64_t at) {
      alignas(64) uint8_t some[Short::kWidth] = {};
      std::memcpy(some, t.pixels + at, static_cast<size_t>(t.channels - c));
      return P::template bytes<kSigned>(some);
    });
  }

  template <int kHigh, int kWide, class Load>
  [[gnu::always_inline]] static void channels(const ByteWinogradInput& t, int64_t c,
                                              const Load& load) {
    using Rows = ByteWinogradAxis<kHigh>;
    using Columns = ByteWinogradAxis<kWide>;
    Short half[kWinogradWindow][kWinogradForms];  // half[j]: column j, transformed along its height
#pragma GCC unroll 6
    for (int j = 0; j < kWide + 2; ++j) {
      Short x[kWinogradWindow];
#pragma GCC unroll 6
      for (int i = 0; i < kHigh + 2; ++i) x[i] = load(i * t.row_stride + j * t.pixel_stride + c);
      Rows::input(x, half[j]);
    }
    char* to = t.to + c / kWinogradDepth * t.depth_stride +
               c % kWinogradDepth * static_cast<int64_t>(sizeof(int16_t));
#pragma GCC unroll 6
    for (int i = 0; i < kWinogradForms; ++i) {
      if (!Rows::kHas[i]) continue;
      Short x[kWinogradWindow], y[kWinogradForms];
#pragma GCC unroll 6
      for (int j = 0; j < kWide + 2; ++j) x[j] = half[j][i];
      Columns::input(x, y);
      // The other points' sums of equal pixels are 0.
      if (i == 1)
        y[1] = y[1] - Short::broadcast(static_cast<int16_t>(t.zero * Rows::kOnes * Columns::kOnes));
#pragma GCC unroll 6
      for (int j = 0; j < kWinogradForms; ++j)
        if (Columns::kHas[j]) y[j].store(to + (i * kWinogradForms + j) * kWinogradPointBytes);
    }
  }

  [[gnu::always_inline]] static void forms(const Short* x, Short* y) {
    y[0] = form<0>(x), y[1] = form<1>(x), y[2] = form<2>(x);
    y[3] = form<3>(x), y[4] = form<4>(x), y[5] = form<5>(x);
  }
  template <int kForm> [[gnu::always_inline]] static Short form(const Short* x) {
    if constexpr (kForm == 0 || kForm == 5) {
      const Short only = x[kForm == 0 ? 0 : 2];
      return only.template shifted<1>() + only.template shifted<2>();
    }
    const bool is_near = kForm < 3;
    const Short even = x[0] + (is_near ? x[2] : x[2].template shifted<2>());
    const Short odd = is_near ? x[1] : x[1].template shifted<1>();
    return kForm == 1 || kForm == 3 ? even + odd : even - odd;
  }

  /// Numbers of two channels of a panel.
  static constexpr int64_t kPair = 2 * kWinogradPanel;
  /// The forms along columns are made in memory, [form][pair][kPair], or in registers ahead of each
  /// product, of the weights of a row, [pair][3][kPair]. They begin in different sets of a cache.
  static constexpr int64_t kPairStride = P::kFormsInRegisters ? 3 * kPair : kPair;
  static constexpr int64_t kFormStride = kWinogradPairs * kPair + 32;
  static constexpr int64_t kRowStride =
      P::kFormsInRegisters ? kWinogradPairs * 3 * kPair + 32 : kWinogradForms * kFormStride;

  static void weights(const int8_t* from, int64_t pairs, int16_t* to) {
    constexpr int64_t kHalf = kPair / 2;
    for (int64_t pair = 0; pair < pairs; ++pair, to += kPairStride)
      for (int64_t half = 0; half < kPair; half += kHalf, from += kWinogradUnit)
        for (int64_t part = 0; part < kHalf; part += Short::kWidth)
          some_weights(from + part, to + half + part);
  }

  [[gnu::always_inline]] static void some_weights(const int8_t* from, int16_t* to) {
    Short rows[3][kWinogradForms];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      Short x[3];
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) x[i] = P::template bytes<true>(from + (i * 3 + j) * kPair / 2);
      forms(x, rows[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kWinogradForms; ++i, to += kRowStride) {
      const Short x[3] = {rows[0][i], rows[1][i], rows[2][i]};
      if constexpr (P::kFormsInRegisters) {
#pragma GCC unroll 3
        for (int j = 0; j < 3; ++j) x[j].store(to + j * kPair);
      } else {
        Short y[kWinogradForms];
        forms(x, y);
#pragma GCC unroll 6
        for (int j = 0; j < kWinogradForms; ++j) y[j].store(to + j * kFormStride);
      }
    }
  }

  template <int kForm> [[gnu::always_inline]] static Long weight(const int16_t* p) {
    if constexpr (P::kFormsInRegisters) {
      const Short x[3] = {Short::load(p), Short::load(p + kPair), Short::load(p + 2 * kPair)};
      return {form<kForm>(x).v};
    } else {
      return Long::load(p + kForm * kFormStride);
    }
  }

  /// kTiles tiles by a part of the panel after the other.
  template <int kForm, int kTiles> static void product(const ByteWinogradProduct& t) {
    constexpr int64_t kColumns = P::kVectors * Long::kWidth, kBytes = sizeof(int32_t);
#pragma GCC unroll 4
    for (int64_t column = 0; column < kWinogradPanel; column += kColumns) {
      const int16_t* weights = t.weights + 2 * column;
      const char* numbers = t.numbers;
      char* const to = t.sums + column * kBytes;
      Long sums[kTiles][P::kVectors];
#pragma GCC unroll 16
      for (int i = 0; i < kTiles; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < P::kVectors; ++v)
          sums[i][v] = t.adds ? Long::load(to + i * kWinogradTileBytes + v * Long::kWidth * kBytes)
                              : Long::zero();
      constexpr int64_t kTogether = kWinogradDepth / 2;
      for (int64_t left = t.pairs; left > 0; left -= kTogether, numbers += t.depth_stride) {
        const char* at = numbers;
        for (int64_t pair = std::min(left, kTogether); pair > 0; --pair, weights += kPairStride) {
          Long w[P::kVectors];
#pragma GCC unroll 4
          for (int v = 0; v < P::kVectors; ++v)
            w[v] = weight<kForm>(weights + 2 * v * Long::kWidth);
#pragma GCC unroll 16
          for (int i = 0; i < kTiles; ++i) {
            const Long x = Long::broadcast(at + i * kWinogradTileBytes);
#pragma GCC unroll 4
            for (int v = 0; v < P::kVectors; ++v) P::multiply_add(sums[i][v], x, w[v]);
          }
          at += kBytes;
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kTiles; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < P::kVectors; ++v)
          sums[i][v].store(to + i * kWinogradTileBytes + v * Long::kWidth * kBytes);
    }
  }

  template <int kHigh, int kWide> static void output(const ByteWinogradOutput& t) {
    for (int64_t column = 0; column < kWinogradPanel; column += Long::kWidth)
      columns<kHigh, kWide>(t, column);
  }

  template <int kHigh, int kWide>
  [[gnu::always_inline]] static void columns(const ByteWinogradOutput& t, int64_t column) {
    using Rows = ByteWinogradAxis<kHigh>;
    using Columns = ByteWinogradAxis<kWide>;
    const char* from = t.sums + column * static_cast<int64_t>(sizeof(int32_t));
    Long half[kWinogradForms][4];
#pragma GCC unroll 6
    for (int j = 0; j < kWinogradForms; ++j) {
      if (!Columns::kHas[j]) continue;
      Long x[kWinogradForms];
#pragma GCC unroll 6
      for (int i = 0; i < kWinogradForms; ++i)
        if (Rows::kHas[i]) x[i] = Long::load(from + (i * kWinogradForms + j) * kWinogradPointBytes);
      Rows::output(x, half[j]);
    }
    const Long ninth = Long::broadcast(&kNinth);
#pragma GCC unroll 4
    for (int i = 0; i < kHigh; ++i) {
      Long x[kWinogradForms], y[4];
#pragma GCC unroll 6
      for (int j = 0; j < kWinogradForms; ++j)
        if (Columns::kHas[j]) x[j] = half[j][i];
      Columns::output(x, y);
      int32_t* to = t.to + i * t.row_stride + column;
#pragma GCC unroll 4
      for (int j = 0; j < kWide; ++j, to += kWinogradPanel)
        P::divided(y[j] * ninth, Rows::kShift[i] + Columns::kShift[j]).store(to);
    }
  }

  /// That of 9 modulo 2^32.
  static constexpr uint32_t kNinth = 954437177;
  static_assert(kNinth * 9 == 1);

  template <int kForm, int... N> static constexpr auto products(std::integer_sequence<int, N...>) {
    return std::array{product<kForm, N + 1>...};
  }
  template <int kForm>
  static constexpr auto kProducts = products<kForm>(std::make_integer_sequence<int, P::kTiles>());

  static constexpr ByteWinogradFunctions kFunctions = {
      P::kTiles,
      {{{input<false, 2, 2>, input<false, 2, 3>, input<false, 2, 4>},
        {input<false, 3, 2>, input<false, 3, 3>, input<false, 3, 4>},
        {input<false, 4, 2>, input<false, 4, 3>, input<false, 4, 4>}},
       {{input<true, 2, 2>, input<true, 2, 3>, input<true, 2, 4>},
        {input<true, 3, 2>, input<true, 3, 3>, input<true, 3, 4>},
        {input<true, 4, 2>, input<true, 4, 3>, input<true, 4, 4>}}},
      {{output<2, 2>, output<2, 3>, output<2, 4>},
       {output<3, 2>, output<3, 3>, output<3, 4>},
       {output<4, 2>, output<4, 3>, output<4, 4>}},
      weights,
      kRowStride,
      {kProducts<0>.data(), kProducts<1>.data(), kProducts<2>.data(), kProducts<3>.data(),
       kProducts<4>.data(), kProducts<5>.data()}};
};

}  // namespace
}  // namespace tenon::cpu
