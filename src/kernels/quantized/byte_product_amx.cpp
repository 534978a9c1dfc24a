#include <immintrin.h>

#include <algorithm>

#include "kernels/gemm/tiles_amx.h"
#include "kernels/quantized/byte_product.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kChunk = kTileBytes / kByteGroup;
constexpr int64_t kWeightStep = kBytePanel * kByteGroup;
constexpr int kMostTiles = 2;

/// Where a tile is read, and the bytes from one row to the next.
struct Source {
  const void* data;
  int64_t step;
};

/// Groups of a tile's depth, tap by tap.
struct Position {
  int64_t tap = 0, group = 0;

  void advance(int64_t count, int64_t groups) {
    group += count;
    while (group >= groups) group -= groups, ++tap;
  }
};

/// Rows [first, first + kTileRows) of a tap are there and evenly apart.
bool are_even(const ByteTile& t, int64_t tap, int first) {
  if (t.rows < first + kTileRows) return false;
  if (t.row_step != 0) return true;
  const uint8_t* const* rows = t.rows_of_taps + tap * t.tap_stride + first;
  const int64_t step = rows[1] - rows[0];
  int64_t different = 0;
  for (int r = 1; r < kTileRows; ++r) different |= (rows[r] - rows[r - 1]) ^ step;
  return different == 0;
}

/// Copies `count` groups of up to kTileRows rows of a tap from `first` on.
void copy_groups(const ByteTile& t, Position from, int64_t count, int first, uint8_t* to,
                 int64_t step) {
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const int rows = std::min(t.rows - first, kTileRows);
  const uint8_t* const* row = t.rows_of_taps + from.tap * t.tap_stride + first;
  const int64_t offset = t.row_offset + from.group * kByteGroup;
  for (int r = 0; r < rows; ++r)
    _mm512_mask_storeu_epi32(to + r * step, mask, _mm512_maskz_loadu_epi32(mask, row[r] + offset));
}

/// Copies `count` groups of rows from `first` on; they may lie in several taps.
void gather(const ByteTile& t, Position from, int64_t count, int first, uint8_t* to) {
  for (int64_t done = 0; done < count;) {
    const int64_t run = std::min(count - done, t.groups - from.group);
    copy_groups(t, from, run, first, to + done * kByteGroup, kTileBytes);
    done += run;
    from.advance(run, t.groups);
  }
}

void gather_rows(const ByteTile& t, uint8_t* to, int64_t step) {
  for (int first = 0; first < t.rows; first += kTileRows)
    for (Position from; from.tap < t.taps;) {
      const int64_t run = std::min(kChunk, t.groups - from.group);
      const int64_t at = (from.tap * t.groups + from.group) * kByteGroup;
      copy_groups(t, from, run, first, to + first * step + at, step);
      from.advance(run, t.groups);
    }
}

template <bool kSigned, int kTiles> void multiply(const Source* rows, const int8_t* weights) {
#define TENON_MULTIPLY(sums, rows, weights) \
  if constexpr (kSigned)                    \
    _tile_dpbssd(sums, rows, weights);      \
  else                                      \
    _tile_dpbusd(sums, rows, weights)
  _tile_loadd(6, weights, kWeightStep);
  _tile_loadd(4, rows[0].data, rows[0].step);
  TENON_MULTIPLY(0, 4, 6);
  _tile_loadd(7, weights + kTileBytes, kWeightStep);
  TENON_MULTIPLY(1, 4, 7);
  if constexpr (kTiles == 2) {
    _tile_loadd(5, rows[1].data, rows[1].step);
    TENON_MULTIPLY(2, 5, 6);
    TENON_MULTIPLY(3, 5, 7);
  }
#undef TENON_MULTIPLY
}

template <bool kSigned, int kTiles> void run_tiles(const ByteTile& t) {
  alignas(64) uint8_t gathered[kMostTiles][kTileRows * kTileBytes];
  alignas(64) int8_t last[kChunk * kWeightStep];
  _tile_loadd(0, t.start, 0);
  _tile_loadd(1, t.start + kBytePanel / 2, 0);
  if constexpr (kTiles == 2) {
    _tile_loadd(2, t.start, 0);
    _tile_loadd(3, t.start + kBytePanel / 2, 0);
  }
  const int64_t groups = t.taps * t.groups;
  const int8_t *weights = t.weights, *ahead = t.ahead;
  Position position;
  int64_t looked_at = -1;  // The tap that `even` is of.
  bool even[kTiles] = {};
  for (int64_t done = 0; done < groups; done += kChunk, weights += kChunk * kWeightStep) {
    const int64_t count = std::min(kChunk, groups - done);
    const bool is_in_one_tap = position.group + kChunk <= t.groups;
    if (is_in_one_tap && looked_at != position.tap) {
      for (int i = 0; i < kTiles; ++i) even[i] = are_even(t, position.tap, i * kTileRows);
      looked_at = position.tap;
    }
    Source rows[kTiles];
    for (int i = 0; i < kTiles; ++i) {
      if (is_in_one_tap && even[i]) {
        const uint8_t* const* row = t.rows_of_taps + position.tap * t.tap_stride + i * kTileRows;
        rows[i] = {row[0] + t.row_offset + position.group * kByteGroup, row[1] - row[0]};
      } else {
        gather(t, position, count, i * kTileRows, gathered[i]);
        rows[i] = {gathered[i], kTileBytes};
      }
    }
    position.advance(count, t.groups);
    const int8_t* whole = weights;
    if (count < kChunk) {  // Behind the last group other weights begin.
      std::fill(std::copy_n(weights, count * kWeightStep, last), std::end(last), int8_t{0});
      whole = last;
    }
    if (t.ahead_step != 0)
      for (int64_t i = 0; i < count; ++i, ahead += t.ahead_step) __builtin_prefetch(ahead, 0, 2);
    finish_stores(gathered);
    multiply<kSigned, kTiles>(rows, whole);
  }
  store_sums<kTiles>(t.sums, kBytePanel * sizeof(int32_t));
}

void run(const ByteTile& t) {
  const bool one = t.rows <= kTileRows;
  if (t.flip != 0) return one ? run_tiles<true, 1>(t) : run_tiles<true, 2>(t);
  return one ? run_tiles<false, 1>(t) : run_tiles<false, 2>(t);
}

}  // namespace

const ByteKernel kByteKernelAmx = {
    kMostTiles * kTileRows, kTileRows, true, run, gather_rows, begin_tiles, end_tiles};

}  // namespace tenon::cpu
