// Divisions by numbers that code takes as arguments.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/jit/kernel_code.h"

namespace tenon {
namespace {

constexpr uint64_t kEnd = uint64_t{1} << 31;

/// As code for all extents divides.
uint64_t divided(uint64_t number, const Inverse& inverse) {
  return number * static_cast<uint64_t>(inverse.multiplier) >> inverse.shift;
}

TEST(Inverse, DividesAllNumbersBelowTwoToThe31) {
  for (const uint64_t divisor :
       {1u,    2u,     3u,     5u,       7u,        8u,          10u,         13u,        49u,
        64u,   100u,   127u,   128u,     129u,      641u,        999u,        4095u,      4096u,
        4097u, 65535u, 65537u, 1000003u, 16777215u, 1073741823u, 1073741825u, 2147483647u}) {
    const Inverse inverse = inverse_of(static_cast<int64_t>(divisor));
    EXPECT_LT(inverse.multiplier, int64_t{1} << 32) << divisor;
    // Around multiples, where a wrong inverse shows, and at the end.
    std::vector<uint64_t> numbers = {kEnd - 1};
    for (uint64_t multiple = divisor; multiple < kEnd;
         multiple += divisor * (1 + kEnd / divisor / 5000))
      numbers.insert(numbers.end(), {multiple - 1, multiple});
    const uint64_t last = (kEnd - 1) / divisor * divisor;
    numbers.insert(numbers.end(), {last - 1, last});
    for (const uint64_t number : numbers)
      EXPECT_EQ(divided(number, inverse), number / divisor) << number << " / " << divisor;
  }
}

TEST(Inverse, TakesTheMostThatFits) {
  const Inverse one = inverse_of(1);
  EXPECT_EQ(one.multiplier, int64_t{1} << 31);
  EXPECT_EQ(one.shift, 31);
}

}  // namespace
}  // namespace tenon
