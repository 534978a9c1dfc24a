// How kernels are timed while others want the cores.
#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/core_time.h"
#include "device/cpu/thread_pool.h"
#include "device/device.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

/// Another thread that wants the core of the calling one, which stays there.
class Rival {
 public:
  Rival() {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(sched_getcpu(), &core);
    sched_setaffinity(0, sizeof(core), &core);
    thread_ = std::thread([this] {
      while (!over_) {
      }
    });
  }
  ~Rival() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

/// Until the core was taken from it; false where that never happened.
bool run_until_preempted() {
  const int64_t before = preemptions();
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (preemptions() == before)
    if (Clock::now() > end) return false;
  return true;
}

/// On a thread of its own, which alone is held to one core.
void beside_a_rival(void (*check)(Device&)) {
  std::thread([check] {
    const Rival rival;
    const auto device = cpu::make_cpu_device(1);
    check(*device);
  }).join();
}

TEST(CpuDevice, RunsThatLostTheirCoreAreDoneAgain) {
  beside_a_rival([](Device& device) {
    int runs = 0;
    bool preempted = false;
    const auto time = device.time({}, 1, [&] {
      if (runs++ == 0) preempted = run_until_preempted();
      return Status();
    });
    ASSERT_TRUE(time.ok());
    ASSERT_TRUE(preempted);
    EXPECT_GE(runs, 2);
    EXPECT_LT(*time, 1) << "milliseconds of a run that did nothing";
  });
}

TEST(CpuDevice, RunsThatAlwaysLoseTheirCoreComeToAnEnd) {
  beside_a_rival([](Device& device) {
    int runs = 0;
    const auto time = device.time({}, 2, [&] {
      ++runs;
      return run_until_preempted() ? Status() : internal_error("the core was not taken");
    });
    ASSERT_TRUE(time.ok()) << time.error().message;
    EXPECT_EQ(runs, 6);
  });
}

TEST(CpuDevice, RunsThatNoHelperJoinedAreDoneAgain) {
  cpu::ThreadPool pool(2);
  const auto device = cpu::make_cpu_device(2);
  int most = 0;
  for (int i = 0; i < 20 && most <= 2; ++i) {
    int runs = 0;
    const auto time = device->time({&pool, nullptr}, 2, [&] {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // The helper sleeps as well.
      pool.for_each(16, 1, [](int64_t) {});
      return Status();
    });
    ASSERT_TRUE(time.ok());
    most = std::max(most, runs);
  }
  EXPECT_GT(most, 2);
}

TEST(CpuDevice, ALaunchThatFailsEndsTheTiming) {
  const auto device = cpu::make_cpu_device(1);
  int runs = 0;
  const auto time = device->time({}, 3, [&]() -> Status {
    ++runs;
    return internal_error("as it should");
  });
  EXPECT_FALSE(time.ok());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tenon
