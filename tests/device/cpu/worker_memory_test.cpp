#include "device/cpu/worker_memory.h"

#include <gtest/gtest.h>

namespace tenon::cpu {
namespace {

TEST(WorkerMemory, BeginsWithALinePagesBehindTheWorkerBefore) {
  for (const size_t bytes : {1, 64, 4096, 30000}) {
    EXPECT_EQ(worker_stride(bytes, 2) % kAlignment, 0u) << bytes;
    EXPECT_GE(worker_stride(bytes, 2), bytes + 2 * 4096) << bytes;
  }
}

TEST(WorkerMemory, IsNoneWhereNoneIsNeeded) {
  EXPECT_EQ(worker_stride(0, 2), 0u);
}

TEST(WorkerMemory, OfSeveralWorkersIsPagesBehindOthers) {
  EXPECT_GE(workers_apart(2), size_t{2} * 4096);
  EXPECT_EQ(workers_apart(2) % kAlignment, 0u);
  EXPECT_EQ(workers_apart(1), 0u);
}

TEST(WorkerMemory, OfOneWorkerHasNoneBehindIt) {
  EXPECT_EQ(worker_stride(4000, 1), align_up(4000));
}

}  // namespace
}  // namespace tenon::cpu
