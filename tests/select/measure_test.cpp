// Kernels are timed with the caches as a run of the whole network leaves them.
#include "select/measure.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/caches.h"

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

}  // namespace
}  // namespace tenon
