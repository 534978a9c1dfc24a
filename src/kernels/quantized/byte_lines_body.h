#pragma once

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/quantized/byte_lines.h"

/// The kernels over any set of vectors, from AVX2 on; included by one source an instruction set. P
/// is that of byte_product_tiles.h.
namespace tenon::cpu {
namespace {

/// Pixels whose sums stay in registers.
constexpr int kLinePixels = 8;

template <class P, int R>
[[gnu::always_inline]] inline void sum_pixels(const ByteLine& l, const uint8_t* columns,
                                              int32_t* to) {
  constexpr int64_t kGroupBytes = kBytePanel * kByteGroup;
  const int64_t column = l.groups * kGroupBytes;
  for (int64_t v = 0; v < kBytePanel; v += P::kWidth) {
    typename P::Vector sums[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r] = P::load(l.start + v);
    const uint8_t* from = columns + v * kByteGroup;
    const int8_t* weights = l.weights + v * kByteGroup;
    for (int64_t tap = 0; tap < l.taps; ++tap, from += l.dilation * column)
      for (int64_t g = 0; g < l.groups; ++g, weights += kGroupBytes) {
        const auto w = P::weights(weights);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
          sums[r] = P::multiply_add(sums[r],
                                    P::load(reinterpret_cast<const int32_t*>(
                                        from + r * l.stride * column + g * kGroupBytes)),
                                    w);
      }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) P::store(to + r * kBytePanel + v, sums[r]);
  }
}

template <class P, int... R>
void sum_last_pixels(const ByteLine& l, int64_t pixels, const uint8_t* columns, int32_t* to,
                     std::integer_sequence<int, R...>) {
  static constexpr void (*kTable[])(const ByteLine&, const uint8_t*,
                                    int32_t*) = {sum_pixels<P, R + 1>...};
  kTable[pixels - 1](l, columns, to);
}

template <class P> void sum_line(const ByteLine& l) {
  const int64_t step = l.stride * l.groups * kBytePanel * kByteGroup;
  for (int64_t i = 0; i < l.pixels; i += kLinePixels)
    sum_last_pixels<P>(l, std::min<int64_t>(kLinePixels, l.pixels - i), l.columns + i * step,
                       l.sums + i * kBytePanel, std::make_integer_sequence<int, kLinePixels>());
}

/// `load` gives a pixel's channels as one vector, with dwords in the order 0 2 4 6 1 3 5 7.
template <class Load>
[[gnu::always_inline]] inline void join_columns(const ByteColumns& c, Load load) {
  const __m256i fill = _mm256_set1_epi8(static_cast<char>(c.fill));
  const __m256i flip = _mm256_set1_epi32(static_cast<int>(c.flip));
  for (int64_t i = 0; i < c.count; ++i) {
    __m256i line[kByteGroup];
#pragma GCC unroll 4
    for (int k = 0; k < kByteGroup; ++k)
      line[k] = _mm256_xor_si256(
          c.lines[k] == nullptr ? fill : load(c.lines[k] + i * c.step, c.channels), flip);
    const __m256i low[] = {_mm256_unpacklo_epi8(line[0], line[1]),
                           _mm256_unpacklo_epi8(line[2], line[3])};
    const __m256i high[] = {_mm256_unpackhi_epi8(line[0], line[1]),
                            _mm256_unpackhi_epi8(line[2], line[3])};
    auto* to = reinterpret_cast<__m256i*>(c.to + i * c.to_step);
    _mm256_store_si256(to, _mm256_unpacklo_epi16(low[0], low[1]));
    _mm256_store_si256(to + 1, _mm256_unpackhi_epi16(low[0], low[1]));
    _mm256_store_si256(to + 2, _mm256_unpacklo_epi16(high[0], high[1]));
    _mm256_store_si256(to + 3, _mm256_unpackhi_epi16(high[0], high[1]));
  }
}

[[gnu::always_inline]] inline __m256i in_join_order(__m256i channels) {
  return _mm256_permutevar8x32_epi32(channels, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

}  // namespace
}  // namespace tenon::cpu
