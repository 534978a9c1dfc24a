#include "device/cuda/compiler_heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

namespace tenon::cuda {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// 12 MiB in blocks of two sizes, written and freed, as a compilation does.
void use_memory() {
  std::vector<void*> blocks;
  for (const size_t bytes : {64 << 10, 2 << 20})
    for (size_t done = 0; done < 6 << 20; done += bytes)
      blocks.push_back(std::memset(std::malloc(bytes), 1, bytes));
  for (void* block : blocks) std::free(block);
}

int64_t page_faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

int64_t resident_bytes() {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(CompilerHeap, WhatAThreadFreesStaysWithIt) {
  int64_t faults = 0;
  std::jthread([&] {
    keep_heap();
    use_memory();
    faults = -page_faults();
    use_memory();
    faults += page_faults();
  }).join();
  EXPECT_LT(faults, 100);  // 3,000 pages.
}

TEST(CompilerHeap, IsGivenBackWithTheThread) {
  int64_t used = 0;
  std::jthread([&] {
    keep_heap();
    use_memory();
    used = resident_bytes();
  }).join();
  EXPECT_LT(resident_bytes(), used - (6 << 20));
}

#endif

}  // namespace
}  // namespace tenon::cuda
