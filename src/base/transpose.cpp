#include "base/transpose.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

/// Elements that fit a vector register of any processor.
constexpr int64_t kSide = 8;
/// Both sides of a tile stay in the first cache.
constexpr int64_t kTile = 64;

using Row = uint16_t __attribute__((vector_size(2 * kSide)));
using Pairs = uint32_t __attribute__((vector_size(2 * kSide)));
using Quads = uint64_t __attribute__((vector_size(2 * kSide)));

/// Neighbours of `rows` are woven, first their elements, then pairs, then halves.
void transpose_square(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride) {
  Row a[kSide], b[kSide];
  for (int64_t i = 0; i < kSide; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Row));
  for (int64_t i = 0; i < kSide; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  const auto weave = [](Row x, Row y, bool high) {
    const auto p = reinterpret_cast<Pairs>(x), q = reinterpret_cast<Pairs>(y);
    return reinterpret_cast<Row>(high ? __builtin_shufflevector(p, q, 2, 6, 3, 7)
                                      : __builtin_shufflevector(p, q, 0, 4, 1, 5));
  };
  for (int64_t i = 0; i < kSide; i += 4)
    for (int64_t half = 0; half < 2; ++half) {
      a[i + 2 * half] = weave(b[i + half], b[i + 2 + half], false);
      a[i + 2 * half + 1] = weave(b[i + half], b[i + 2 + half], true);
    }
  for (int64_t i = 0; i < kSide / 2; ++i) {
    const auto p = reinterpret_cast<Quads>(a[i]), q = reinterpret_cast<Quads>(a[i + 4]);
    const auto low = reinterpret_cast<Row>(__builtin_shufflevector(p, q, 0, 2));
    const auto high = reinterpret_cast<Row>(__builtin_shufflevector(p, q, 1, 3));
    std::memcpy(to + 2 * i * to_stride, &low, sizeof low);
    std::memcpy(to + (2 * i + 1) * to_stride, &high, sizeof high);
  }
}

}  // namespace

void transpose(const uint16_t* from, int64_t rows, int64_t columns, uint16_t* to) {
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t r1 = std::min(r0 + kTile, rows), c1 = std::min(c0 + kTile, columns);
      const int64_t whole_r = r0 + (r1 - r0) / kSide * kSide;
      const int64_t whole_c = c0 + (c1 - c0) / kSide * kSide;
      for (int64_t c = c0; c < whole_c; c += kSide)
        for (int64_t r = r0; r < whole_r; r += kSide)
          transpose_square(from + r * columns + c, columns, to + c * rows + r, rows);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = r < whole_r ? whole_c : c0; c < c1; ++c)
          to[c * rows + r] = from[r * columns + c];
    }
}

}  // namespace tenon
