// How much other threads slow a thread down.
#include "base/core_time.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tenon {
namespace {

void work_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// To the core that the caller is on, together with all threads that it starts from now on.
void stay_on_one_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
}

TEST(CoreTime, OthersOnTheSameCoreStretchTheWork) {
  std::thread worker([] {
    stay_on_one_core();
    std::atomic<bool> over = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
      others.emplace_back([&over] {
        while (!over) {
        }
      });
    const CoreTime time;
    work_for(std::chrono::milliseconds(400));
    over = true;
    for (std::thread& other : others) other.join();
    EXPECT_GT(time.stretch(), 2);
  });
  worker.join();
}

TEST(CoreTime, ASleepIsNoWork) {
  const CoreTime time;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(time.stretch(), 20);
  EXPECT_GE(time.stretch(), 1);
}

}  // namespace
}  // namespace tenon
