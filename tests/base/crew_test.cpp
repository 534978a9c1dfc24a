// Tasks that threads do for another.
#include "base/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace tenon {
namespace {

TEST(CrewTest, EachTaskIsDoneAndTakenOnce) {
  std::atomic<size_t> sum = 0;
  Crew crew(3, [&](size_t task) { sum += task; });
  for (size_t task = 1; task <= 100; ++task) crew.add(task);
  std::multiset<size_t> done;
  while (const auto task = crew.take_done()) done.insert(*task);
  EXPECT_EQ(sum, 5050u);
  EXPECT_EQ(done.size(), 100u);
  EXPECT_EQ(std::set<size_t>(done.begin(), done.end()).size(), 100u);
}

TEST(CrewTest, TasksThatFollowOthersAreTakenToo) {
  Crew crew(2, [](size_t) {});
  crew.add(10);
  size_t taken = 0;
  while (const auto task = crew.take_done()) {
    ++taken;
    if (*task > 0) crew.add(*task - 1);
  }
  EXPECT_EQ(taken, 11u);
}

TEST(CrewTest, NothingIsTakenWhereNothingWasAdded) {
  Crew crew(2, [](size_t) {});
  EXPECT_FALSE(crew.take_done().has_value());
}

TEST(CrewTest, WhatWasNotBegunIsDropped) {
  std::atomic<size_t> count = 0;
  {
    Crew crew(1, [&](size_t) {
      ++count;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    for (size_t task = 0; task < 1000; ++task) crew.add(task);
    crew.take_done();
  }
  EXPECT_LT(count, 1000u);
}

}  // namespace
}  // namespace tenon
