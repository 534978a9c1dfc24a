// Kernels are timed with the caches as a run of the whole network leaves them.
#include "select/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "device/cpu/caches.h"
#include "kernels/movable_constants.h"
#include "made_up_device.h"

namespace tenon {
namespace {

constexpr int64_t kWeights = 1 << 17;  // More than stays unnoticed, less than a private cache.

/// Reads a line of its weights after the other, each where the one before says.
class Reader final : public Kernel {
 public:
  Reader() : weights_(kWeights) {
    constexpr int64_t kStep = 16 * 769, kLine = 16;  // Far apart, so that nothing is prefetched.
    for (int64_t i = 0; i < kWeights; i += kLine)
      weights_[i] = static_cast<int32_t>((i + kStep) % kWeights);
  }
  Status run(const LaunchArguments&) const override {
    int32_t at = 0;
    for (int64_t i = 0; i < kWeights / 16; ++i) at = weights_[at];
    return at == 0 ? Status() : internal_error("the walk ended at {}", at);
  }
  std::span<const std::byte> packed() const override { return std::as_bytes(std::span(weights_)); }
  bool uses_input(int) const override { return false; }

 private:
  std::vector<int32_t> weights_;
};

Problem problem_with(const Tensor& weights) {
  Problem problem;
  problem.inputs = {{.present = true, .extents = weights.extents(), .constant = &weights}};
  return problem;
}

TEST(Measure, ConstantsOfLargeNetworksComeFromMemory) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "nothing takes memory out of the caches";
#endif
  const Backend backend = cpu_backend(1);
  const Tensor weights(DataType::kFloat32, {kWeights});
  const Tensor others(DataType::kFloat32, {static_cast<int64_t>(cpu::shared_cache_bytes() / 8)});
  const Problem small = problem_with(weights), large = problem_with(others);
  const Reader reader;
  Measurer in_cache(backend, 1), in_memory(backend, 1);
  in_cache.expect({&small, 1});
  in_memory.expect({&large, 1});
  // Other programs take the shared cache at times.
  double ratio = 0;
  for (int i = 0; i < 10 && ratio < 2; ++i) {
    const auto near = in_cache.time(small, reader, 8, nullptr);
    const auto far = in_memory.time(small, reader, 8, nullptr);
    ASSERT_TRUE(near.ok() && far.ok());
    ratio = std::max(ratio, *far / *near);
  }
  EXPECT_GE(ratio, 2);
}

/// Counts its runs.
class Counter final : public Kernel {
 public:
  Status run(const LaunchArguments&) const override {
    ++runs;
    return {};
  }
  bool uses_input(int) const override { return false; }
  mutable int runs = 0;
};

/// Only GPUs run slowly at first.
TEST(Measure, ProcessorsAreNotWoken) {
  const Tensor weights(DataType::kFloat32, {4});
  const Problem problem = problem_with(weights);
  const Counter counter;
  const Backend backend = cpu_backend(1);
  Measurer measurer(backend, 1);
  ASSERT_TRUE(measurer.time(problem, counter, 8, nullptr).ok());
  EXPECT_LT(counter.runs, 1000);
}

/// Waits during its first runs, as threads do for a core.
class Waiting final : public Kernel {
 public:
  explicit Waiting(int runs) : waits_(runs) {}
  Status run(const LaunchArguments&) const override {
    if (runs++ < waits_) std::this_thread::sleep_for(kWait);
    return {};
  }
  bool uses_input(int) const override { return false; }
  static constexpr std::chrono::milliseconds kWait{20};
  mutable int runs = 0;

 private:
  int waits_;
};

TEST(Measure, RunsDuringWhichOthersHadTheCoresAreDoneAgain) {
  constexpr int kRuns = 4;
  const Backend backend = cpu_backend(1);
  const Tensor some(DataType::kFloat32, {4});
  const Tensor many(DataType::kFloat32, {static_cast<int64_t>(cpu::private_cache_bytes())});
  for (const Tensor* weights : {&some, &many}) {
    const Problem problem = problem_with(*weights);
    Measurer measurer(backend, 1);
    const Waiting at_first(Measurer::kWarmUps + kRuns), always(1000);
    const auto short_time = measurer.time(problem, at_first, kRuns, nullptr);
    ASSERT_TRUE(short_time.ok());
    EXPECT_LT(*short_time, static_cast<double>(Waiting::kWait.count()) / 2);
    const auto long_time = measurer.time(problem, always, kRuns, nullptr);
    ASSERT_TRUE(long_time.ok());
    EXPECT_GE(*long_time, static_cast<double>(Waiting::kWait.count()));
    EXPECT_LT(always.runs, 10 * kRuns);
  }
}

/// Counts copies from the host.
class Uploads final : public MadeUpDevice {
 public:
  Status upload(void* to, const void* from, size_t bytes, Queue queue) override {
    uploaded += bytes;
    return MadeUpDevice::upload(to, from, bytes, queue);
  }
  size_t uploaded = 0;
};

TEST(Measure, LargeTensorsAreFilledByCopiesOnTheDevice) {
  const auto device = std::make_shared<Uploads>();
  Measurer measurer({.device = device, .tactics = {}}, 1);
  constexpr size_t kCount = (size_t{1} << 22) + 3;
  std::vector<float> filled(kCount, 7.0f);
  ASSERT_TRUE(measurer.fill(filled.data(), DataType::kFloat32, kCount * sizeof(float)).ok());
  EXPECT_LT(device->uploaded, kCount * sizeof(float) / 3);
  EXPECT_TRUE(std::ranges::all_of(filled, [](float x) { return x >= -1 && x <= 1; }));
  // Rows of any usual length differ from those behind.
  for (const size_t row :
       {size_t{1}, size_t{768}, size_t{1} << 12, size_t{1} << 20, size_t{1} << 21})
    EXPECT_FALSE(std::equal(filled.begin(), filled.begin() + 16, filled.begin() + row)) << row;
}

constexpr size_t kCache = 1 << 14;

/// Has a cache, and times as many launches as it is asked for.
class Caching final : public MadeUpDevice {
 public:
  size_t shared_cache_bytes() const override { return kCache; }
  Result<double> time(Queue, int repeats, const std::function<Status()>& launch) override {
    for (int i = 0; i < repeats; ++i) TENON_TRY(launch());
    return 1;
  }
};

/// Keeps the addresses that its launches read constants from: its own, and an input.
class Moving final : public Kernel, public MovableConstants {
 public:
  explicit Moving(size_t bytes) : own_(bytes, std::byte{7}) {}
  std::vector<Block> blocks() const override { return {{own_.data(), own_.size()}}; }
  Status run(const LaunchArguments& arguments) const override {
    const void* const own = own_.data();
    return run_with(arguments, {&own, 1});
  }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    const auto* const own = static_cast<const std::byte*>(blocks[0]);
    const bool equal = std::equal(own_.begin(), own_.end(), own) &&
                       *static_cast<const float*>(arguments.inputs[0]) == 3;
    read.emplace_back(own, arguments.inputs[0]);
    return equal ? Status() : internal_error("other constants");
  }
  bool uses_input(int) const override { return true; }

  mutable std::vector<std::pair<const void*, const void*>> read;

 private:
  std::vector<std::byte> own_;
};

/// The kernel's launches for a network with so many bytes of constants.
std::vector<std::pair<const void*, const void*>> launches_of(size_t own, size_t network, int runs) {
  Tensor input(DataType::kFloat32, {256}), others(DataType::kInt8, {static_cast<int64_t>(network)});
  for (float& x : input.mutable_values<float>()) x = 3;
  const Problem problem = problem_with(input), all = problem_with(others);
  const Backend backend{.device = std::make_shared<Caching>(), .tactics = {}};
  Measurer measurer(backend, 1, true);
  measurer.expect({&all, 1});
  const Moving kernel(own);
  const auto time = measurer.time(problem, kernel, runs, nullptr);
  EXPECT_TRUE(time.ok()) << time.error().message;
  kernel.read.erase(kernel.read.begin());  // Is not timed.
  return kernel.read;
}

/// Where a network has more constants than the device's cache, a launch reads no constants that
/// launches shortly before it have read.
TEST(Measure, LaunchesTakeTurnsAtCopiesOfTheirConstants) {
  constexpr size_t kOwn = kCache / 4, kInput = 256 * sizeof(float);
  constexpr int kRuns = 40;
  const auto many = launches_of(kOwn, 2 * kCache, kRuns);
  ASSERT_EQ(many.size(), static_cast<size_t>(kRuns));
  constexpr size_t kBetween = 2 * kCache / (kOwn + kInput);
  for (size_t i = 0; i < many.size(); ++i)
    for (size_t k = i + 1; k < std::min(many.size(), i + kBetween); ++k) {
      EXPECT_NE(many[i].first, many[k].first);
      EXPECT_NE(many[i].second, many[k].second);
    }
  const auto distinct = [](const auto& launches) {
    return std::set(launches.begin(), launches.end()).size();
  };
  EXPECT_LT(distinct(many), 2 * kBetween);
  EXPECT_EQ(distinct(launches_of(kOwn, kCache / 4, kRuns)), 1u) << "constants that stay there";
  EXPECT_EQ(distinct(launches_of(64, 2 * kCache, kRuns)), 1u) << "few constants";
  EXPECT_EQ(distinct(launches_of(3 * kCache, 8 * kCache, kRuns)), 1u) << "more than the cache";
}

/// Where no cache is known, and where a kernel has no constants.
TEST(Measure, LaunchesWithoutConstantsHaveNoCopies) {
  const Backend backend{.device = std::make_shared<MadeUpDevice>(), .tactics = {}};
  Measurer measurer(backend, 1, true);
  Tensor others(DataType::kInt8, {1 << 20});
  const Problem all = problem_with(others), none;
  measurer.expect({&all, 1});
  const Counter counter;
  EXPECT_TRUE(measurer.time(none, counter, 8, nullptr).ok());
  EXPECT_EQ(counter.runs, 2);
}

/// Zeros would take little power, and kernels that multiply them run faster than with numbers.
TEST(Measure, BytesThatAreMultipliedAreNoZeros) {
  Measurer measurer({.device = std::make_shared<MadeUpDevice>(), .tactics = {}}, 1);
  Tensor integers(DataType::kInt8, {1 << 16}), indices(DataType::kInt64, {1 << 10});
  for (Tensor* tensor : {&integers, &indices})
    ASSERT_TRUE(measurer
                    .fill(tensor->mutable_bytes(), tensor->type(),
                          static_cast<size_t>(tensor->byte_count()))
                    .ok());
  std::set<int8_t> seen(integers.values<int8_t>().begin(), integers.values<int8_t>().end());
  EXPECT_EQ(seen.size(), 256u);
  EXPECT_TRUE(std::ranges::all_of(indices.values<int64_t>(), [](int64_t x) { return x == 0; }));
  for (const DataType type : {DataType::kFloat8E4M3, DataType::kFloat8E5M2}) {
    Tensor floats(type, {1 << 16});
    ASSERT_TRUE(measurer.fill(floats.mutable_bytes(), type, 1 << 16).ok());
    for (int64_t i = 0; i < floats.count(); ++i) {
      const double size = std::abs(floats.as_double(i));
      ASSERT_TRUE(size >= 0.5 && size < 1) << size;
    }
  }
}

}  // namespace
}  // namespace tenon
