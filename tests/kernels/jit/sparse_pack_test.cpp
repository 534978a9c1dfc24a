// Weights as sparse tensor cores take them: unpacked as gemm/sparse_products.cu reads them they are
// the same.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/gemm/sparse_cuda.h"

namespace tenon::test {
namespace {

using namespace hopper;

constexpr int64_t kBlock = 4608,
                  kNumbers = 4096;  // Bytes of 64 columns by 64 of k; without places.

/// [n, k], of each four at most two not zero: both, one or none, at all places.
Tensor sparse_matrix(int64_t n, int64_t k) {
  Tensor weights(DataType::kFloat16, {n, k});
  constexpr int kStays[] = {3, 5, 9, 6, 10, 12, 1, 2, 4, 8, 0};
  for (int64_t i = 0; i < weights.count(); ++i)
    weights.set_from_double(i, kStays[i / 4 % 11] >> i % 4 & 1 ? double(i % 1999 + 1) : 0);
  return weights;
}

struct Packed {
  std::vector<std::byte> bytes;
  int64_t parts;

  /// Of a row of a block's operand the number at a place of the 32 that are kept.
  uint16_t number(int64_t block, int64_t row, int64_t kept) const {
    const int64_t at = row * 64 + kept * 2, swizzled = at ^ (at >> 7 & 3) << 4;
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + block * kBlock + swizzled, sizeof bits);
    return bits;
  }
  /// The word of a thread of the warp group.
  uint32_t word(int64_t block, int64_t thread) const {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + block * kBlock + kNumbers + thread * 4, sizeof bits);
    return bits;
  }
};

/// The column that a thread holds sums of: of 16 of a part, rows r and r + 8 are a pair.
int64_t column_of(int64_t block, int64_t row, int64_t parts) {
  const int64_t warp = row / 16, r = row % 8, second = row % 16 / 8;
  return block / parts * parts * 64 + warp * 16 * parts + block % parts * 16 + 2 * r + second;
}

/// All numbers of a thread's word to their places in [n, k].
void unpack(const Packed& packed, int64_t block, int64_t stage, int64_t all, int64_t thread,
            Tensor& to) {
  const int64_t n = to.extents()[0], k = to.extents()[1], quarter = thread % 4;
  for (const int64_t second : {0, 1}) {
    const int64_t row = thread / 32 * 16 + thread % 32 / 4 + second * 8;
    const int64_t column = column_of(block, row, packed.parts);
    const uint32_t word = packed.word(stage * all + block, thread) >> (second * 16) & 0xffff;
    for (int64_t four = 0; four < 4; ++four) {
      const int64_t first = word >> (four * 4) & 3, other = word >> (four * 4 + 2) & 3;
      EXPECT_LT(first, other);
      for (const int64_t i : {0, 1}) {
        const int64_t at = stage * 64 + quarter * 16 + four * 4 + (i == 0 ? first : other);
        const uint16_t bits = packed.number(stage * all + block, row, quarter * 8 + four * 2 + i);
        if (column < n && at < k)
          to.mutable_values<uint16_t>()[column * k + at] = bits;
        else
          EXPECT_EQ(bits, 0);
      }
    }
  }
}

TEST(SparsePacking, KeepsEveryNumberAtItsPlace) {
  for (const int64_t parts : {1, 2})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{64, 64}, {200, 132}, {256, 200}}) {
      const Tensor weights = sparse_matrix(n, k);
      SparseColumns columns{n, k, std::vector<int64_t>(size_t((k + 63) / 64 * 64), -1)};
      for (int64_t i = 0; i < k; ++i) columns.places[size_t(i)] = i;
      const SparseTiling tiling{.parts = parts};
      const Packed packed{packed_sparse(weights, columns, tiling, "").make(), parts};
      const int64_t stages = (k + 63) / 64, blocks = (n + 64 * parts - 1) / (64 * parts) * parts;
      ASSERT_GE(int64_t(packed.bytes.size()), stages * blocks * kBlock);
      Tensor found(DataType::kFloat16, {n, k});
      std::fill_n(found.mutable_bytes(), found.byte_count(), std::byte{0});
      for (int64_t stage = 0; stage < stages; ++stage)
        for (int64_t block = 0; block < blocks; ++block)
          for (int64_t thread = 0; thread < 128; ++thread)
            unpack(packed, block, stage, blocks, thread, found);
      EXPECT_EQ(std::memcmp(found.bytes(), weights.bytes(), size_t(weights.byte_count())), 0)
          << n << " x " << k << ", " << parts << " parts";
    }
}

}  // namespace
}  // namespace tenon::test
