#include "kernels/quantized/byte_product.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/arithmetic.h"

namespace tenon::cpu {
namespace {

struct Case {
  int64_t taps, groups;
  int rows;
  bool is_signed;
  bool scattered;  ///< Rows lie in no order, else evenly apart.
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << c.taps << " taps of " << c.groups << " groups, " << c.rows << " rows"
            << (c.is_signed ? " of i8" : "") << (c.scattered ? ", scattered" : "");
}

class Product {
 public:
  explicit Product(const Case& c) : c_(c) {
    std::mt19937 random(5);
    const int64_t depth = c.taps * c.groups * kByteGroup;
    const int64_t run = c.groups * kByteGroup, step = round_up(run, int64_t{16}) + 16;
    const int64_t lines = c.taps * c.rows;
    for (int64_t i = 0; i < lines * step + kOffset; ++i)
      image_.push_back(static_cast<uint8_t>(random()));
    for (int64_t i = 0; i < depth * kBytePanel; ++i)
      weights_.push_back(static_cast<int8_t>(random()));
    for (int64_t i = 0; i < kBytePanel; ++i) start_.push_back(static_cast<int32_t>(random() % 999));
    for (int64_t i = 0; i < lines; ++i)
      rows_.push_back(image_.data() + (c.scattered ? (i * 7 + 3) % lines : i) * step);
  }

  std::vector<int32_t> run(const ByteKernel& kernel) const {
    std::vector<int32_t> all;
    kernel.begin();
    for (int first = 0; first < c_.rows; first += kernel.max_rows) {
      const int rows = std::min(kernel.max_rows, c_.rows - first);
      std::vector<int32_t> sums(round_up(rows, kernel.row_unit) * kBytePanel);
      ByteTile tile{.rows_of_taps = rows_.data() + first,
                    .tap_stride = c_.rows,
                    .taps = c_.taps,
                    .groups = c_.groups,
                    .row_offset = kOffset,
                    .flip = c_.is_signed ? 0x80808080u : 0};
      tile.weights = tile.ahead = weights_.data();
      tile.start = start_.data(), tile.rows = rows, tile.sums = sums.data();
      kernel.run(tile);
      all.insert(all.end(), sums.begin(), sums.begin() + rows * kBytePanel);
    }
    kernel.end();
    return all;
  }

  std::vector<int32_t> expected(bool takes_signed) const {
    std::vector<int32_t> all;
    for (int r = 0; r < c_.rows; ++r)
      for (int64_t n = 0; n < kBytePanel; ++n) {
        int32_t sum = start_[n];
        for (int64_t k = 0; k < c_.taps * c_.groups * kByteGroup; ++k) {
          const int64_t run = c_.groups * kByteGroup;
          const uint8_t byte = rows_[k / run * c_.rows + r][kOffset + k % run];
          const int x = !c_.is_signed ? byte : static_cast<int8_t>(byte) + (takes_signed ? 0 : 128);
          sum += x * weights_[(k / kByteGroup * kBytePanel + n) * kByteGroup + k % kByteGroup];
        }
        all.push_back(sum);
      }
    return all;
  }

 private:
  static constexpr int64_t kOffset = 4;
  Case c_;
  std::vector<uint8_t> image_;
  std::vector<int8_t> weights_;
  std::vector<int32_t> start_;
  std::vector<const uint8_t*> rows_;
};

class Products : public testing::TestWithParam<Case> {};

TEST_P(Products, AreExactInEveryInstructionSet) {
  const Product product(GetParam());
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16})
    for (int64_t rows : {1, 64}) {
      const ByteKernel& kernel = byte_kernel(capped_isa(isa), rows);
      EXPECT_EQ(product.run(kernel), product.expected(kernel.takes_signed))
          << "set " << int(isa) << ", chosen for " << rows << " rows";
    }
}

INSTANTIATE_TEST_SUITE_P(Depths, Products,
                         testing::Values(Case{1, 16, 32, false, false}, Case{1, 16, 1, true, false},
                                         Case{1, 5, 17, false, false}, Case{1, 40, 47, true, false},
                                         Case{9, 16, 32, true, true}, Case{9, 6, 33, false, true},
                                         Case{3, 21, 16, false, false},
                                         Case{25, 1, 5, true, true}));

}  // namespace
}  // namespace tenon::cpu
