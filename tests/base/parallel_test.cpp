// How many threads help.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

namespace tenon {
namespace {

TEST(ParallelTest, OnlyCoresThatTheProcessMayUseCount) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(usable_cores(), static_cast<size_t>(CPU_COUNT(&before)));
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1U);
  EXPECT_EQ(helper_threads(), 1U);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

/// The thread that asks for it, and its helpers.
TEST(ParallelTest, ThreadsGiveWayByThemselves) {
  const auto niceness = [] { return getpriority(PRIO_PROCESS, 0); };
  const int before = niceness();
  std::jthread([&] {
    give_way();
    const int own = niceness();
    EXPECT_GT(own, before);
    for_each_parallel(8, 4, [&](size_t) { EXPECT_EQ(niceness(), own); });
  }).join();
  EXPECT_EQ(niceness(), before);
  EXPECT_GT(begin_aside(niceness).get(), before);
}

}  // namespace
}  // namespace tenon
