#include "base/transpose.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

void expect_transposed(int64_t rows, int64_t columns) {
  const auto count = static_cast<size_t>(rows * columns);
  std::vector<uint16_t> from(count), to(count, 0xffff);
  for (size_t i = 0; i < count; ++i) from[i] = static_cast<uint16_t>(i);
  transpose(from.data(), rows, columns, to.data());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(to[static_cast<size_t>(c * rows + r)], from[static_cast<size_t>(r * columns + c)])
          << rows << "x" << columns << " at " << r << ", " << c;
}

TEST(Transpose, TakesSquaresTilesAndTheirRests) {
  for (const int64_t rows : {1, 7, 8, 9, 63, 64, 65, 72, 130})
    for (const int64_t columns : {1, 7, 8, 9, 63, 64, 65, 72, 130})
      expect_transposed(rows, columns);
}

}  // namespace
}  // namespace tenon
