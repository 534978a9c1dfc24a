#include <algorithm>
#include <array>
#include <cstring>

#include "base/arithmetic.h"
#include "kernels/quantized/byte_attention.h"
#include "kernels/vector_math/isa.h"

/// Plain loops, which compilers write with the set's vectors.
namespace tenon::cpu {
namespace {

int32_t sum(const uint8_t* from, int64_t count) {
  int32_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += from[i];
  return total;
}

void pack_keys(const uint8_t* from, int64_t stride, int64_t keys, int64_t size, uint8_t flip,
               int8_t* to, int32_t* sums) {
  const int64_t groups = ceil_div(size, kByteGroup), whole = size / kByteGroup;
  const uint32_t flips = flip * 0x01010101u;
  std::fill_n(sums, round_up(keys, kBytePanel), 0);
  for (int64_t key = 0; key < keys; ++key) {
    const uint8_t* row = from + key * stride;
    int8_t* column = to + (key / kBytePanel * groups * kBytePanel + key % kBytePanel) * kByteGroup;
    for (int64_t g = 0; g < groups; ++g) {
      uint32_t bytes = flips;
      std::memcpy(&bytes, row + g * kByteGroup,
                  static_cast<size_t>(g < whole ? kByteGroup : size - whole * kByteGroup));
      bytes ^= flips;
      std::memcpy(column + g * kBytePanel * kByteGroup, &bytes, sizeof(bytes));
    }
    int32_t total = 0;
    for (int64_t i = 0; i < size; ++i) total += static_cast<int8_t>(row[i] ^ flip);
    sums[key] = total;
  }
}

/// kBytePanel columns of one group.
void interleave(const std::array<const uint8_t*, kByteGroup>& rows, int64_t columns, uint32_t flips,
                uint32_t* __restrict to) {
  const uint8_t* __restrict a = rows[0], * __restrict b = rows[1], * __restrict c = rows[2], * __restrict d = rows[3];
  for (int64_t i = 0; i < columns; ++i)
    to[i] = (uint32_t{a[i]} | uint32_t{b[i]} << 8 | uint32_t{c[i]} << 16 | uint32_t{d[i]} << 24) ^
            flips;
}

void pack_values(const uint8_t* from, int64_t stride, int64_t keys, int64_t columns, uint8_t flip,
                 int8_t* to) {
  const int64_t groups = ceil_div(keys, kByteGroup);
  const uint32_t flips = flip * 0x01010101u;
  uint8_t nothing[kBytePanel];
  std::fill_n(nothing, kBytePanel, flip);
  for (int64_t first = 0; first < columns; first += kBytePanel)
    for (int64_t g = 0; g < groups; ++g, to += kBytePanel * kByteGroup) {
      const int64_t count = std::min(kBytePanel, columns - first);
      std::array<const uint8_t*, kByteGroup> rows;
      for (int64_t j = 0; j < kByteGroup; ++j) {
        const int64_t key = g * kByteGroup + j;
        rows[j] = key < keys ? from + key * stride + first : nothing;
      }
      uint32_t* group = reinterpret_cast<uint32_t*>(to);
      interleave(rows, count, flips, group);
      std::fill(group + count, group + kBytePanel, 0u);
    }
}

void add(const int32_t* __restrict from, int64_t count, int32_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void add_to_rows(const int32_t* numbers, int64_t rows, int32_t* sums) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < kBytePanel; ++c) sums[r * kBytePanel + c] += numbers[r];
}

void to_floats(const int32_t* __restrict sums, const int32_t* numbers, int64_t rows, float scale,
               float* __restrict to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t number = numbers[r];
    for (int64_t c = 0; c < kBytePanel; ++c)
      to[r * stride + c] = static_cast<float>(sums[r * kBytePanel + c] + number) * scale;
  }
}

}  // namespace

const ByteAttentionFunctions TENON_CONSTANT_OF_ISA(kByteAttention) = {
    pack_keys, pack_values, sum, add, add_to_rows, to_floats};

}  // namespace tenon::cpu
