#include "base/page_stock.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace tenon {
namespace {

constexpr size_t kMega = size_t{1} << 20;

/// Sanitizers have no stock.
bool keeps_pages() {
  PageStock stock;
  stock.open();
  std::byte* const block = stock.take(kMega);
  const bool keeps = block != nullptr && stock.give(block);
  stock.close();
  return keeps;
}

class PageStockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!keeps_pages()) GTEST_SKIP() << "blocks come from the heap";
    stock_.open();
  }
  void TearDown() override {
    if (keeps_pages()) stock_.close();
  }
  PageStock stock_;
};

bool holds(const std::byte* block, size_t bytes, int value) {
  return std::all_of(block, block + bytes,
                     [value](std::byte one) { return one == static_cast<std::byte>(value); });
}

TEST_F(PageStockTest, GivesABlockOfTheSameSizeAgain) {
  std::byte* const first = stock_.take(5 * kMega + 1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % PageStock::kUnit, 0u);
  std::fill_n(first, 5 * kMega + 1, std::byte{7});
  EXPECT_TRUE(stock_.give(first));
  EXPECT_GE(stock_.kept(), 5 * kMega);
  EXPECT_EQ(stock_.take(5 * kMega + 1), first);
  EXPECT_EQ(stock_.kept(), 0u);
  EXPECT_TRUE(stock_.give(first));
}

TEST_F(PageStockTest, MovesPagesToABlockOfAnotherSize) {
  std::byte* const one = stock_.take(4 * kMega);
  std::byte* const other = stock_.take(5 * kMega);
  std::fill_n(one, 4 * kMega, std::byte{1});
  std::fill_n(other, 5 * kMega, std::byte{2});
  stock_.give(one);
  stock_.give(other);
  std::byte* const both = stock_.take(10 * kMega);
  ASSERT_NE(both, nullptr);
  EXPECT_TRUE(holds(both, 4 * kMega, 2));
  EXPECT_TRUE(holds(both + 4 * kMega, 4 * kMega, 1));
  EXPECT_TRUE(holds(both + 8 * kMega, 2 * kMega, 0)) << "new pages";
  EXPECT_EQ(stock_.kept(), 0u);
  std::fill_n(both, 10 * kMega, std::byte{3});
  stock_.give(both);
  std::byte* const part = stock_.take(6 * kMega);
  EXPECT_TRUE(holds(part, 6 * kMega, 3));
  EXPECT_EQ(stock_.kept(), 4 * kMega);
  stock_.give(part);
}

TEST_F(PageStockTest, GivesWayToOtherMemory) {
  std::byte* const one = stock_.take(4 * kMega);
  std::byte* const other = stock_.take(6 * kMega);
  stock_.give(one);
  stock_.give(other);
  stock_.give_way(kMega);
  EXPECT_EQ(stock_.kept(), 6 * kMega);
}

TEST_F(PageStockTest, KeepsNothingBehindTheLastUser) {
  stock_.open();
  std::byte* const one = stock_.take(4 * kMega);
  std::byte* const late = stock_.take(4 * kMega);
  stock_.give(one);
  stock_.close();
  EXPECT_EQ(stock_.kept(), 4 * kMega);
  stock_.close();
  EXPECT_EQ(stock_.kept(), 0u);
  EXPECT_EQ(stock_.take(4 * kMega), nullptr);
  std::fill_n(late, 4 * kMega, std::byte{1});
  EXPECT_TRUE(stock_.give(late));
  EXPECT_EQ(stock_.kept(), 0u);
  stock_.open();
}

/// Drivers mark pages that they lock, which makes several mappings of a block. Systems before Linux
/// 6.17 do not move these at once: then there is no block, rather than one with a hole.
TEST_F(PageStockTest, GivesNoBlockWithAHole) {
  std::byte* const one = stock_.take(6 * kMega);
  ASSERT_EQ(madvise(one + 2 * kMega, 2 * kMega, MADV_DONTFORK), 0);
  stock_.give(one);
  for (int i = 0; i < 2; ++i) {
    std::byte* const next = stock_.take(5 * kMega);
    ASSERT_TRUE(next != nullptr || i == 0);
    if (next == nullptr) continue;
    std::fill_n(next, 5 * kMega, std::byte{1});
    EXPECT_TRUE(stock_.give(next));
  }
}

TEST_F(PageStockTest, LeavesBlocksOfOthersAlone) {
  std::vector<std::byte> own(5 * kMega);
  EXPECT_FALSE(stock_.give(own.data()));
}

TEST_F(PageStockTest, HasNoMorePagesThanBlocksHadAtATime) {
  struct Block {
    std::byte* at;
    size_t bytes;
    int value;
  };
  constexpr size_t kBlocks = 6;
  std::vector<Block> blocks;
  std::minstd_rand random(1);
  size_t used = 0, most = 0;
  for (int i = 0; i < 600; ++i) {
    if (blocks.size() < kBlocks && random() % 2 == 0) {
      const size_t bytes = kMega / 2 * (1 + random() % 24) + 4096 * (random() % 3);
      blocks.push_back({stock_.take(bytes), bytes, i % 250});
      ASSERT_NE(blocks.back().at, nullptr);
      std::fill_n(blocks.back().at, bytes, static_cast<std::byte>(i % 250));
      used += bytes;
      most = std::max(most, used);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ASSERT_TRUE(holds(block.at, block.bytes, block.value)) << i;
      ASSERT_TRUE(stock_.give(block.at));
      used -= block.bytes;
    }
    ASSERT_LE(stock_.kept() + used, most + kBlocks * PageStock::kUnit) << i;
  }
  for (const Block& block : blocks) stock_.give(block.at);
}

}  // namespace
}  // namespace tenon
