#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "device/cpu/isa.h"

namespace tenon::cpu {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceForAnyThreadsCountAndGrain) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 100}) {
        std::vector<std::atomic<int>> hits(count);
        pool.parallel_for(count, grain, [&](int64_t begin, int64_t end, int worker) {
          EXPECT_LT(worker, threads);
          EXPECT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++hits[i];
        });
        for (auto& hit : hits) ASSERT_EQ(hit, 1);
      }
    }
  }
}

// Chunks of two would give one of two threads ten.
TEST(ThreadPool, SharesFewTasksOutOneByOne) {
  ThreadPool pool(2);
  for (int64_t count : {17, 18, 21, 31})
    pool.parallel_for(count, 1,
                      [&](int64_t begin, int64_t end, int) { EXPECT_EQ(end, begin + 1); });
}

// Seventeen chunks of six would give one of two threads fifty-two of a hundred tasks.
TEST(ThreadPool, BeginsWithAsManyChunksForEachThread) {
  ThreadPool pool(2);
  for (const int64_t count : {100, 229, 1000, 12544}) {
    std::atomic<int> chunks{0};
    pool.parallel_for(count, 1, [&](int64_t, int64_t, int) { ++chunks; });
    EXPECT_EQ(chunks % 2, 0) << count << " tasks";
  }
}

TEST(ThreadPool, ManyShortLoopsBackToBackNeverMixUp) {
  ThreadPool pool(4);
  for (int round = 0; round < 20000; ++round) {
    const int64_t count = 2 + round % 37;
    std::atomic<int64_t> sum{0};
    pool.parallel_for(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i + round;
    });
    ASSERT_EQ(sum, count * (count - 1) / 2 + count * round);
  }
}

TEST(ThreadPool, WakesHelpersThatSleep) {
  ThreadPool pool(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> helped{0};
    pool.parallel_for(3, 1, [&](int64_t, int64_t, int worker) {
      helped |= 1 << worker;
      const auto start = std::chrono::steady_clock::now();
      // Without a helper the caller would take all three chunks: it holds its first until another
      // thread showed up.
      while (helped == 1 << worker &&
             std::chrono::steady_clock::now() - start < std::chrono::seconds(10))
        std::this_thread::yield();
    });
    EXPECT_NE(helped, 1);
  }
}

TEST(Isa, CapNeverRaises) {
  EXPECT_EQ(capped_isa(Isa::generic), Isa::generic);
  EXPECT_EQ(capped_isa(Isa::avx512_bf16), detected_isa());
}

}  // namespace
}  // namespace tenon::cpu
