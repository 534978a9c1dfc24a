#pragma once

#include <cstring>
#include <utility>

#include "kernels/quantized/byte_product.h"

/// The kernel over any set of vectors; included by one source an instruction set.
namespace tenon::cpu {
namespace {

/// R rows, whose signs are flipped or not. P gives Vector and its kWidth, load(), store(),
/// broadcast(), flipped() and multiply_add().
template <class P, bool kFlips, int R> void byte_tile(const ByteTile& t) {
  constexpr int kVectors = kBytePanel / P::kWidth;
  typename P::Vector sums[R][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = P::load(t.start + v * P::kWidth);
  const auto flip = P::broadcast(t.flip);
  const int8_t *weights = t.weights, *ahead = t.ahead;
  const int64_t ahead_step = t.ahead_step, bytes_of_tap = t.groups * kByteGroup;
  int32_t* const to = t.sums;  // A store to it might change the tile, for all that is known.
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* row[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) row[r] = t.rows_of_taps[tap * t.tap_stride + r] + t.row_offset;
    for (int64_t at = 0; at < bytes_of_tap; at += kByteGroup) {
      typename P::Weights column[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        column[v] = P::weights(weights + v * P::kWidth * kByteGroup);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        uint32_t bytes;
        std::memcpy(&bytes, row[r] + at, sizeof(bytes));
        auto x = P::broadcast(bytes);
        if constexpr (kFlips) x = P::flipped(x, flip);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] = P::multiply_add(sums[r][v], x, column[v]);
      }
      weights += kBytePanel * kByteGroup;
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) P::store(to + r * kBytePanel + v * P::kWidth, sums[r][v]);
}

template <class P, int... R>
void run_byte_tile(const ByteTile& t, std::integer_sequence<int, R...>) {
  static constexpr void (*kTable[])(const ByteTile&) = {byte_tile<P, false, R + 1>...};
  static constexpr void (*kFlipTable[])(const ByteTile&) = {byte_tile<P, true, R + 1>...};
  (t.flip == 0 ? kTable : kFlipTable)[t.rows - 1](t);
}

}  // namespace
}  // namespace tenon::cpu
