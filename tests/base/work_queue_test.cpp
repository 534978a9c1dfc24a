// Tasks that threads do for another.
#include "base/work_queue.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <set>
#include <vector>

namespace tenon {
namespace {

TEST(WorkQueueTest, EachTaskIsDoneAndTakenOnce) {
  std::atomic<size_t> sum = 0;
  WorkQueue work_queue(3, [&](size_t task) { sum += task; });
  for (size_t task = 1; task <= 100; ++task) work_queue.add(task);
  std::multiset<size_t> done;
  while (const auto task = work_queue.take_done()) done.insert(*task);
  EXPECT_EQ(sum, 5050u);
  EXPECT_EQ(done.size(), 100u);
  EXPECT_EQ(std::set<size_t>(done.begin(), done.end()).size(), 100u);
}

TEST(WorkQueueTest, TasksThatFollowOthersAreTakenToo) {
  WorkQueue work_queue(2, [](size_t) {});
  work_queue.add(10);
  size_t taken = 0;
  while (const auto task = work_queue.take_done()) {
    ++taken;
    if (*task > 0) work_queue.add(*task - 1);
  }
  EXPECT_EQ(taken, 11u);
}

TEST(WorkQueueTest, SomeTasksAreDoneAheadOfOthers) {
  std::promise<void> begun, all_added;
  std::vector<size_t> order;
  WorkQueue work_queue(1, [&](size_t task) {
    if (task == 0) {
      begun.set_value();
      all_added.get_future().wait();
    }
    order.push_back(task);
  });
  work_queue.add(0);
  begun.get_future().wait();
  for (size_t task = 1; task <= 4; ++task) work_queue.add(task, task > 2);
  all_added.set_value();
  while (work_queue.take_done()) {
  }
  EXPECT_EQ(order, (std::vector<size_t>{0, 3, 4, 1, 2}));
}

TEST(WorkQueueTest, SomeResultsAreTakenBehindOthers) {
  std::promise<void> all_done;
  WorkQueue work_queue(1, [&](size_t task) {
    if (task == 4) all_done.set_value();
  });
  for (size_t task = 0; task <= 4; ++task) work_queue.add(task, false, task < 2);
  all_done.get_future().wait();
  // The last one may still be on its way.
  std::vector<size_t> order;
  while (const auto task = work_queue.take_done()) order.push_back(*task);
  std::erase(order, 4u);
  EXPECT_EQ(order, (std::vector<size_t>{2, 3, 0, 1}));
}

/// Results wait for the one thread that takes them, tasks for any of many.
TEST(WorkQueueTest, ItsThreadsGiveWayToTheOneThatTakes) {
  const auto priority = [] { return getpriority(PRIO_PROCESS, 0); };
  if (priority() > 0) GTEST_SKIP() << "the process gives way itself";
  std::atomic<int> of_task = 0;
  WorkQueue work_queue(1, [&](size_t) { of_task = priority(); });
  work_queue.add(0);
  while (work_queue.take_done()) {
  }
  EXPECT_GT(of_task, priority());
}

TEST(WorkQueueTest, NothingIsTakenWhereNothingWasAdded) {
  WorkQueue work_queue(2, [](size_t) {});
  EXPECT_FALSE(work_queue.take_done().has_value());
}

TEST(WorkQueueTest, WhatWasNotBegunIsDropped) {
  std::atomic<size_t> count = 0;
  {
    WorkQueue work_queue(1, [&](size_t) {
      ++count;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    for (size_t task = 0; task < 1000; ++task) work_queue.add(task);
    work_queue.take_done();
  }
  EXPECT_LT(count, 1000u);
}

}  // namespace
}  // namespace tenon
