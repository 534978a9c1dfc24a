#include "lower/prefetch.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

/// Steps whose weights lie one behind the other.
struct Steps {
  std::vector<std::byte> memory;
  std::vector<PrefetchStep> steps;

  Steps(size_t each, std::vector<size_t> capacities) : memory(each * capacities.size()) {
    for (size_t i = 0; i < capacities.size(); ++i)
      steps.push_back({std::span(memory).subspan(i * each, each), capacities[i]});
  }
  /// Megabytes from the start of all weights to those that a step fetches, and how many.
  std::pair<size_t, size_t> fetched(size_t step, size_t cache) const {
    const StepFetch fetch = plan_prefetches(steps, cache)[step];
    const std::byte* const begin = steps[fetch.step].packed.data() + fetch.offset;
    return {(begin - memory.data()) / kMegabyte, fetch.bytes / kMegabyte};
  }
};

using Stretch = std::pair<size_t, size_t>;

TEST(Prefetch, SharesComingWeightsOutInTheOrderOfUse) {
  const Steps steps(2 * kMegabyte, {3 * kMegabyte, 0, kMegabyte, 0});
  EXPECT_EQ(steps.fetched(0, 0), (Stretch{2, 3}));
  EXPECT_EQ(plan_prefetches(steps.steps, 0)[1].bytes, 0);
  EXPECT_EQ(steps.fetched(2, 0), (Stretch{6, 1}));
}

TEST(Prefetch, NoMoreWaitsThanTheCacheKeeps) {
  const Steps steps(10 * kMegabyte, {100 * kMegabyte, 100 * kMegabyte, 0, 0});
  EXPECT_EQ(steps.fetched(0, 0), (Stretch{10, 8}));
  EXPECT_EQ(steps.fetched(0, 4 * kMegabyte), (Stretch{10, 3}));
  EXPECT_EQ(steps.fetched(0, 16 * kMegabyte), (Stretch{10, 12}));
  EXPECT_EQ(steps.fetched(0, 512 * kMegabyte), (Stretch{10, 24}));
  // Two megabytes of step 2 wait already.
  EXPECT_EQ(steps.fetched(1, 16 * kMegabyte), (Stretch{22, 10}));
}

}  // namespace
}  // namespace tenon
