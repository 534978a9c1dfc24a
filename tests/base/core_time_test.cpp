// How much other processes slow a thread down.
#include "base/core_time.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

namespace tenon {
namespace {

void work_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// To the core that the caller is on, together with all that it starts from now on.
void stay_on_one_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
}

TEST(CoreTime, OtherProcessesOnTheSameCoreStretchTheWork) {
  std::thread worker([] {
    stay_on_one_core();
    std::vector<pid_t> others;
    for (int i = 0; i < 3; ++i) {
      others.push_back(fork());
      if (others.back() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
      }
    }
    CoreTime time;
    work_for(std::chrono::milliseconds(400));
    EXPECT_GT(time.stretch(), 2);
    for (const pid_t other : others) {
      kill(other, SIGKILL);
      waitpid(other, nullptr, 0);
    }
  });
  worker.join();
}

/// A process that has all cores is disturbed by itself alone.
TEST(CoreTime, ThreadsOfTheProcessAreItsOwnWork) {
  std::atomic<bool> over = false;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 16 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([&over] {
      while (!over) {
      }
    });
  CoreTime time;
  work_for(std::chrono::milliseconds(400));
  EXPECT_LT(time.stretch(), 12);
  over = true;
  for (std::thread& other : others) other.join();
}

TEST(CoreTime, ASleepIsNoWork) {
  CoreTime time;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(time.stretch(), 20);
  EXPECT_GE(time.stretch(), 1);
}

}  // namespace
}  // namespace tenon
