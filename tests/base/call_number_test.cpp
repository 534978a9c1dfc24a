// Numbers of threads that work for others.
#include "base/call_number.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/parallel.h"
#include "base/work_queue.h"

namespace tenon {
namespace {

TEST(CallNumberTest, ThreadsForACallBearItsNumberAndOthersNone) {
  set_call_number(7);
  std::atomic<int> wrong = 0;
  const auto look = [&wrong](size_t) { wrong += call_number() != 7; };
  for_each_parallel(64, 4, look);
  {
    WorkQueue work_queue(2, look);
    for (size_t task = 0; task < 8; ++task) work_queue.add(task);
    while (work_queue.take_done().has_value()) {
    }
  }
  std::thread(with_call_number([&] { look(0); })).join();
  EXPECT_EQ(wrong, 0);
  uint64_t other = 1;
  std::thread([&] { other = call_number(); }).join();
  EXPECT_EQ(other, 0u);
  set_call_number(0);
}

}  // namespace
}  // namespace tenon
