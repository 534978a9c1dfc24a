#include "kernels/movement/indexed_copy.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tenon::cpu {
namespace {

/// Three rows of four elements, each from where its index says in 4 x 10; so far apart are
/// neighbours of a row there.
std::vector<float> gathered(int64_t apart) {
  IndexedCopy copy{.extents = {3, 4},
                   .plain = {4, 1},
                   .indexed = {0, apart},
                   .index = {1, 0},
                   .tuple = {{10, 1}}};
  copy.simplify(IndexedCopy::Order::kAny);
  std::vector<float> source(40), destination(12);
  std::iota(source.begin(), source.end(), 0.0f);
  const int64_t indices[] = {7, -10, 2};
  std::vector<int64_t> offsets(static_cast<size_t>(copy.tuples()));
  ThreadPool pool(1);
  EXPECT_TRUE(copy.resolve(indices, offsets.data(), pool).ok());
  copy.gather(source.data(), offsets.data(), destination.data(), pool);
  return destination;
}

TEST(IndexedCopy, RowsComeFromNeighboursAndFromFarApart) {
  EXPECT_EQ(gathered(1), (std::vector<float>{7, 8, 9, 10, 0, 1, 2, 3, 2, 3, 4, 5}));
  EXPECT_EQ(gathered(10), (std::vector<float>{7, 17, 27, 37, 0, 10, 20, 30, 2, 12, 22, 32}));
  EXPECT_EQ(gathered(0), (std::vector<float>{7, 7, 7, 7, 0, 0, 0, 0, 2, 2, 2, 2}));
}

}  // namespace
}  // namespace tenon::cpu
