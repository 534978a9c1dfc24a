#include "kernels/gemm/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "buffer.h"
#include "device/cpu/isa.h"

namespace tenon::cpu {
namespace {

ProductPlan plan_for(int64_t m, int64_t n, int64_t k, int64_t batch, int threads) {
  return plan_product(microkernels(ElementType::f32, detected_isa()), m, n, k, ElementType::f32, {},
                      batch, threads, false);
}

/// How many blocks of rows more than one of `threads` equal parts of the tasks has.
int64_t shared_blocks(const ProductPlan& plan, int threads) {
  const int64_t tasks = plan.row_tasks() * plan.column_tasks();
  std::multiset<int64_t> rows;
  for (int thread = 0; thread < threads; ++thread) {
    std::set<int64_t> own;
    for (int64_t i = tasks * thread / threads; i < tasks * (thread + 1) / threads; ++i)
      own.insert(plan.place_of(i).row_task);
    rows.insert(own.begin(), own.end());
  }
  return static_cast<int64_t>(rows.size()) - plan.row_tasks();
}

TEST(PackRows, ZerosEndWithTheRow) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16})
    for (const Isa isa : available_levels()) {
      const Microkernels& kernels = microkernels(type, isa);
      constexpr int64_t kRows = 2, kDepth = 5, kBehind = 16;
      const int64_t stride = (kDepth + kernels.k_unit - 1) / kernels.k_unit * kernels.k_unit;
      const Buffer a(type, kRows * kDepth, 1.0f);
      Buffer packed(kernels.type, kRows * stride + kBehind, 7.0f);
      pack_rows(kernels, {a.bytes.data(), type, kDepth, 1}, kRows, kDepth, packed.bytes.data(),
                stride);
      for (int64_t i = 0; i < kRows * stride + kBehind; ++i)
        EXPECT_EQ(packed.at(i), i >= kRows * stride ? 7 : i % stride < kDepth ? 1 : 0) << i;
    }
}

TEST(ProductPlan, TasksCoverEveryBlockOnce) {
  for (int threads : {1, 2, 3, 4})
    for (int64_t copies : {1, 3}) {
      const ProductPlan plan = plan_for(196, 1024, 256, copies, threads);
      const int64_t tasks = plan.row_tasks() * plan.column_tasks() * copies;
      std::set<std::pair<int64_t, int64_t>> places;
      for (int64_t i = 0; i < tasks; ++i) {
        const auto [row_task, column] = plan.place_of(i, copies);
        EXPECT_LT(row_task, plan.row_tasks() * copies);
        EXPECT_LT(column, plan.n);
        places.insert({row_task, column});
      }
      EXPECT_EQ(static_cast<int64_t>(places.size()), tasks);
    }
}

TEST(ProductPlan, EachThreadBeginsWithRowsOfItsOwn) {
  for (int64_t n : {256, 1024, 2048})
    for (int threads : {2, 4})
      EXPECT_EQ(shared_blocks(plan_for(196, n, 256, 1, threads), threads), 0) << n;
}

TEST(ProductPlan, FewRowsAreNotCut) {
  EXPECT_EQ(plan_for(49, 2048, 512, 1, 2).row_tasks(), 1);
  EXPECT_GE(plan_for(49, 2048, 512, 1, 2).column_tasks(), 8);
}

TEST(ProductPlan, FewColumnsOfFewRowsAreSharedByRows) {
  const ProductPlan plan = plan_for(49, 128, 512, 1, 2);
  EXPECT_EQ(plan.row_tasks(), 2);
  EXPECT_EQ(shared_blocks(plan, 2), 0);
  EXPECT_EQ(plan_for(49, 128, 512, 1, 1).row_tasks(), 1);
  EXPECT_EQ(plan_for(49, 128, 512, 2, 2).row_tasks(), 1);  // Each thread has a product.
  EXPECT_EQ(plan_for(13, 128, 512, 1, 2).row_tasks(), 1);  // Less than a tile each.
}

/// Columns times rows of the tasks that each thread begins with.
std::vector<int64_t> shares(const ProductPlan& plan, int threads) {
  std::vector<int64_t> elements(threads);
  const int64_t tasks = plan.row_tasks() * plan.column_tasks();
  for (int thread = 0; thread < threads; ++thread)
    for (int64_t i = tasks * thread / threads; i < tasks * (thread + 1) / threads; ++i) {
      const auto [row_task, column] = plan.place_of(i);
      elements[thread] += std::min(plan.row_block, plan.m - row_task * plan.row_block) *
                          std::min(plan.column_block, plan.n - column);
    }
  return elements;
}

TEST(ProductPlan, ThreadsShareFewPanelsEvenly) {
  for (int64_t n : {64, 128, 192, 320, 960, 1152, 1280})
    for (bool gathered : {false, true}) {
      const ProductPlan plan = plan_product(microkernels(ElementType::f32, detected_isa()), 49, n,
                                            512, ElementType::f32, {}, 1, 2, gathered);
      const std::vector<int64_t> elements = shares(plan, 2);
      const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
      EXPECT_LT(double(*most), 1.1 * double(*least)) << n << " columns";
    }
}

}  // namespace
}  // namespace tenon::cpu
