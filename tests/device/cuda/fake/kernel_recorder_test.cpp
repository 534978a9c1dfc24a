// Kernels as CUPTI tells of them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cupti.h"

#if defined(TENON_HAVE_CUPTI_COUNTERS) && CUPTI_API_VERSION >= 130000

namespace tenon::cuda {
namespace {

/// Before the library looks for the driver.
const int kFolder = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

template <class Function> Function of_cupti(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen(FAKE_DRIVER "/libcupti.so.13", RTLD_NOW), name));
}

/// The record of a run of two layers.
Result<KernelRecords> record_two(int& runs, const Status& outcome = {}) {
  TENON_ASSIGN(const std::shared_ptr<CudaDevice> device, CudaDevice::open());
  return device->record_kernels([&]() -> Status {
    ++runs;
    // Else contexts may replay a graph, whose launches cannot be told apart.
    if (!device->is_profiled()) return internal_error("nothing shows launches");
    for (const char* layer : {"first", "second"}) {
      device->push_range(layer);
      device->pop_range();
    }
    return outcome;
  });
}

TEST(KernelRecorder, TellsOfKernelsInTheOrderOfTheirLaunches) {
  of_cupti<void (*)(bool)>("fake_cupti_allow_counters")(false);
  int runs = 0;
  const auto records = record_two(runs);
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_EQ(records->kernels.size(), 3u);
  const KernelRecord& second = records->kernels[1];
  EXPECT_EQ(records->kernels[0].range, "first");
  EXPECT_EQ(second.range, "second");
  EXPECT_EQ(records->kernels[2].range, "");
  EXPECT_EQ(second.name, "scale(float*)");
  EXPECT_NEAR(second.start_ms, 0.02, 1e-9);
  EXPECT_NEAR(second.ms, 0.01, 1e-9);
  EXPECT_EQ(second.grid[0], 2);
  EXPECT_EQ(second.block[0], 256);
  EXPECT_EQ(second.registers, 128);
  EXPECT_EQ(second.shared_bytes, 3072);
  EXPECT_EQ(second.stream, 7);
  EXPECT_EQ(of_cupti<int (*)()>("fake_cupti_kinds")(), 0);
}

TEST(KernelRecorder, SaysWhyThereAreNoCounters) {
  of_cupti<void (*)(bool)>("fake_cupti_allow_counters")(false);
  int runs = 0;
  const auto records = record_two(runs);
  ASSERT_TRUE(records.ok());
  EXPECT_NE(records->without_counters.find("administrators"), std::string::npos)
      << records->without_counters;
  EXPECT_LT(records->kernels[0].bytes_read, 0);
  EXPECT_EQ(runs, 1);
}

TEST(KernelRecorder, RunsAsOftenAsCountersTake) {
  of_cupti<void (*)(bool)>("fake_cupti_allow_counters")(true);
  int runs = 0;
  const auto records = record_two(runs);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->without_counters, "");
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(records->kernels[1].bytes_read, 2000);
  EXPECT_EQ(records->kernels[1].bytes_written, 500);
  EXPECT_EQ(records->kernels[1].tensor_share, 0.25);
}

TEST(KernelRecorder, FailsWithTheRun) {
  int runs = 0;
  const auto records = record_two(runs, resource_error("no memory"));
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().message, "no memory");
  EXPECT_EQ(of_cupti<int (*)()>("fake_cupti_kinds")(), 0);
}

/// Of an sm_90 multiprocessor.
constexpr MultiprocessorLimits kLimits = {.threads = 2048,
                                          .blocks = 32,
                                          .registers = 65536,
                                          .shared_bytes = 233472,
                                          .reserved_bytes = 1024,
                                          .count = 132};

KernelRecord of_block(int64_t threads, int64_t registers, int64_t shared) {
  KernelRecord record;
  record.grid = {264, 1, 1};
  record.block = {threads, 1, 1};
  record.registers = registers;
  record.shared_bytes = shared;
  set_occupancy(record, kLimits);
  return record;
}

TEST(Occupancy, IsLimitedByThreadsRegistersBlocksAndSharedMemory) {
  EXPECT_DOUBLE_EQ(of_block(256, 32, 0).occupancy, 1);
  EXPECT_DOUBLE_EQ(of_block(256, 128, 0).occupancy, 0.25);
  EXPECT_DOUBLE_EQ(of_block(32, 16, 0).occupancy, 0.5);
  EXPECT_DOUBLE_EQ(of_block(256, 32, 200 << 10).occupancy, 0.125);
  EXPECT_DOUBLE_EQ(of_block(256, 32, 200 << 10).waves, 2);
  EXPECT_DOUBLE_EQ(of_block(1024, 64, 0).occupancy, 0.5);
}

TEST(Occupancy, IsNotToldWhereLimitsAreNotKnown) {
  KernelRecord record;
  set_occupancy(record, {});
  EXPECT_EQ(record.occupancy, 0);
}

}  // namespace
}  // namespace tenon::cuda

#endif
