#include "device/cpu/placement.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <vector>

namespace tenon::cpu {
namespace {

std::vector<int> processors(const cpu_set_t& set) {
  std::vector<int> found;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) found.push_back(i);
  return found;
}

cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

/// A helper that waits, and the caller's affinity, which comes back at the end.
class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed_, &allowed_), 0);
    helpers_.emplace_back([this] { stop_.wait(false); });
  }
  void TearDown() override {
    sched_setaffinity(0, sizeof allowed_, &allowed_);
    stop_ = true;
    stop_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }
  std::vector<int> helper_may_use() {
    cpu_set_t set;
    EXPECT_EQ(pthread_getaffinity_np(helpers_[0].native_handle(), sizeof set, &set), 0);
    return processors(set);
  }

  cpu_set_t allowed_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> helpers_;
};

TEST_F(PlacementTest, HelpersLeaveTheProcessorThatTheCallerComesTo) {
  const std::vector<int> all = processors(allowed_);
  if (all.size() < 2) GTEST_SKIP() << "one processor";
  Placement placement(2);
  for (int processor : {all[0], all[1], all[0]}) {
    const cpu_set_t here = only(processor);
    ASSERT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
    placement.follow_caller(helpers_);
    std::vector<int> others = all;
    std::erase(others, processor);
    EXPECT_EQ(helper_may_use(), others);
  }
}

TEST_F(PlacementTest, MoreThreadsThanProcessorsStayWhereTheyAre) {
  const std::vector<int> all = processors(allowed_);
  Placement placement(static_cast<int>(all.size()) + 1);
  placement.follow_caller(helpers_);
  EXPECT_EQ(helper_may_use(), all);
}

}  // namespace
}  // namespace tenon::cpu
