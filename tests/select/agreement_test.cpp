// Kernels that compute something else than the reference are found while they are measured.
#include "select/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/float_formats.h"
#include "device/described_device.h"
#include "ir/text.h"
#include "made_up_device.h"
#include "memory_logger.h"
#include "ops/table.h"
#include "select/select.h"

namespace tenon {
namespace {

/// Doubles its results in one place, or writes none at all.
class Damaged final : public Kernel {
 public:
  Damaged(std::unique_ptr<Kernel> right, int64_t place) : right_(std::move(right)), place_(place) {}
  Status run(const LaunchArguments& arguments) const override {
    if (place_ < 0) return {};
    TENON_TRY(right_->run(arguments));
    static_cast<float*>(arguments.outputs[0])[place_] += 1000;
    return {};
  }
  size_t workspace_bytes() const override { return right_->workspace_bytes(); }

 private:
  std::unique_ptr<Kernel> right_;
  int64_t place_;
};

const Tactic& reference() {
  return cpu_tactics().back();
}

Result<std::unique_ptr<Kernel>> idle(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(auto right, reference().create(problem, config));
  return std::unique_ptr<Kernel>(std::make_unique<Damaged>(std::move(right), -1));
}
Result<std::unique_ptr<Kernel>> damaged(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(auto right, reference().create(problem, config));
  return std::unique_ptr<Kernel>(
      std::make_unique<Damaged>(std::move(right), problem.output().count() - 1));
}

Tactic row(std::string_view name, decltype(Tactic::create) create) {
  Tactic tactic = reference();
  tactic.name = name;
  tactic.traits = {};
  tactic.create = create;
  return tactic;
}

class Agreement : public testing::Test {
 protected:
  /// The tactic taken out of `tactics` (and the reference behind them) for one product.
  std::string taken(std::vector<Tactic> tactics, int level = 3) {
    tactics.push_back(reference());
    Backend backend = cpu_backend(1);
    backend.tactics = tactics;
    auto graph = parse_graph(R"(graph "" (%0 "x": f32[300,400], %1 "y": f32[300,400]) {
  %2 "z" = mul "product"(%0, %1) : f32[300,400]
  return %2
})");
    EXPECT_TRUE(graph.ok() && infer_graph(**graph).ok());
    SelectOptions options;
    options.logger = &log_;
    options.level = level;
    const Status status = select_tactics(**graph, backend, {}, options, cache_);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return (*graph)->nodes()[0]->tactic;
  }
  MemoryLogger log_;
  TimingCache cache_;
};

/// Results of kernels are floats; places and flags are compared nowhere, and not written over.
TEST(Sampler, TakesFloatsThatAreThere) {
  std::vector<float> floats(6, 2), absent(6, 3);
  std::vector<int64_t> places(6, 4);
  const Operand all{.present = true, .type = DataType::kFloat32, .extents = {6}};
  Problem problem;
  problem.outputs = {all, all, all};
  problem.outputs[1].type = DataType::kInt64;
  problem.outputs[2].present = false;
  const void* outputs[] = {floats.data(), places.data(), absent.data()};
  const Backend backend = cpu_backend(1);
  SampleMemory memory;
  const Sampler sampler(*backend.device, {}, memory, problem, outputs);
  const auto sample = sampler.read();
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_EQ(*sample, Sample(6, 2));
  ASSERT_TRUE(sampler.poison().ok());
  EXPECT_TRUE(std::isnan(floats[5]));
  EXPECT_EQ(places, std::vector<int64_t>(6, 4));
  EXPECT_EQ(absent, std::vector<float>(6, 3));
}

/// Counts its waits, and gives page-locked memory.
class Waits final : public MadeUpDevice {
 public:
  Status download(void* to, const void* from, size_t bytes, Queue queue) override {
    ++downloads;
    return MadeUpDevice::download(to, from, bytes, queue);
  }
  Status synchronize(Queue) override {
    ++waits;
    return {};
  }
  Result<DeviceHandle> make_pinned(size_t bytes) override {
    ++pinned;
    return DeviceHandle(std::malloc(bytes), [](void* memory) { std::free(memory); });
  }
  int waits = 0, pinned = 0, downloads = 0;
};

TEST(Sampler, TakesASmallOutputAsAWhole) {
  Waits device;
  std::vector<uint16_t> halves(50'000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i % 30'000);
  Problem problem;
  problem.outputs = {{.present = true, .type = DataType::kFloat16, .extents = {50'000}}};
  const void* outputs[] = {halves.data()};
  SampleMemory memory;
  const Sampler sampler(device, {}, memory, problem, outputs);
  const auto sample = sampler.read();
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  ASSERT_EQ(sample->size(), halves.size());
  for (size_t i = 0; i < halves.size(); i += 997) EXPECT_EQ((*sample)[i], f16_to_float(halves[i]));
  EXPECT_EQ(device.downloads, 1);
  ASSERT_TRUE(sampler.poison().ok());
  EXPECT_EQ(halves.front(), 0xffff);
  EXPECT_EQ(halves.back(), 0xffff);
}

TEST(Sampler, WaitsOnceForAllPiecesInMemoryThatStays) {
  Waits device;
  std::vector<float> large(size_t{1} << 20);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i % 977);
  Problem problem;
  problem.outputs = {{.present = true, .type = DataType::kFloat32, .extents = {int64_t{1} << 20}}};
  const void* outputs[] = {large.data()};
  SampleMemory memory;
  for (int i = 0; i < 3; ++i) {
    const Sampler sampler(device, {}, memory, problem, outputs);
    const auto sample = sampler.read();
    ASSERT_TRUE(sample.ok()) << sample.error().message;
    ASSERT_GT(sample->size(), 10'000u);
    EXPECT_EQ(sample->front(), large.front());
    EXPECT_EQ(sample->back(), large.back());
  }
  EXPECT_EQ(device.waits, 3);
  EXPECT_EQ(device.pinned, 1);
}

TEST(AgreementTolerance, IsThatOfFloatsThatAreThere) {
  const Operand floats{.present = true, .type = DataType::kFloat32, .extents = {6}};
  Problem problem;
  problem.inputs = {floats, floats};
  problem.inputs[1].present = false;
  problem.inputs[1].type = DataType::kBFloat16;
  problem.outputs = {floats, floats};
  problem.outputs[1].type = DataType::kInt64;
  const Tolerance found = agreement_tolerance(problem);
  const Tolerance right = tolerance(Computation::kAgreement, DataType::kFloat32);
  EXPECT_EQ(found.relative, right.relative);
  EXPECT_EQ(found.norm, right.norm);
  problem.inputs[1].present = true;
  EXPECT_GT(agreement_tolerance(problem).norm, right.norm);
}

TEST_F(Agreement, LeavesOutWhatWritesNothing) {
  EXPECT_EQ(taken({row("test.idle", idle), row("test.right", reference().create)}), "test.right");
  EXPECT_NE(log_.text.find("product: test.idle is left out"), std::string::npos) << log_.text;
}

TEST_F(Agreement, LeavesOutWhatIsWrongInOnePlace) {
  EXPECT_EQ(taken({row("test.damaged", damaged), row("test.right", reference().create)}),
            "test.right");
  EXPECT_NE(log_.text.find("test.damaged is left out"), std::string::npos) << log_.text;
}

TEST_F(Agreement, IsKeptInTheTimingCache) {
  const std::vector<Tactic> tactics = {row("test.idle", idle),
                                       row("test.right", reference().create)};
  taken(tactics);
  log_.text.clear();
  EXPECT_EQ(taken(tactics), "test.right");
  EXPECT_EQ(log_.text, "");
}

TEST_F(Agreement, SaysNothingWhereAllAreRight) {
  taken({row("test.one", reference().create), row("test.other", reference().create)});
  EXPECT_EQ(log_.text, "");
}

/// A kernel that cannot be timed, as one that does not compile.
Result<std::unique_ptr<Kernel>> failing(const Problem&, std::string_view) {
  return Error(unsupported("it is made to fail"));
}

TEST_F(Agreement, TakesTheLastResortWhereAllThatFitFails) {
  EXPECT_EQ(taken({row("test.one", failing), row("test.other", failing)}), "cpu.reference");
  // The timing cache says so too.
  EXPECT_EQ(taken({row("test.one", failing), row("test.other", failing)}), "cpu.reference");
}

TEST_F(Agreement, TakesWhatALowLevelWouldNotTryAheadOfTheLastResort) {
  EXPECT_EQ(taken({row("test.one", failing), row("test.other", failing), row("test.third", failing),
                   row("test.right", reference().create)},
                  1),
            "test.right");
}

TEST(AgreementTolerance, IsThatOfTenBitsWhereMatrixUnitsTakeF32) {
  DeviceProperties gpu;
  gpu.kind = DeviceKind::kCuda;
  gpu.compute_capability = 90;
  const DescribedDevice hopper(gpu);
  gpu.compute_capability = 75;
  const DescribedDevice turing(gpu);
  const Backend processor = cpu_backend(1);
  EXPECT_TRUE(multiplies_in_tf32(&hopper, true));
  EXPECT_FALSE(multiplies_in_tf32(&hopper, false));
  EXPECT_FALSE(multiplies_in_tf32(&turing, true));
  EXPECT_FALSE(multiplies_in_tf32(processor.device.get(), true));
  Problem problem{.device = const_cast<DescribedDevice*>(&hopper), .numerics = {.tf32 = true}};
  problem.outputs = {{.present = true, .type = DataType::kFloat32}};
  const Tolerance single = tolerance(Computation::kAgreement, DataType::kFloat32);
  const Tolerance half = tolerance(Computation::kAgreement, DataType::kFloat16);
  EXPECT_EQ(agreement_tolerance(problem).norm, half.norm);
  problem.numerics.tf32 = false;
  EXPECT_EQ(agreement_tolerance(problem).norm, single.norm);
  EXPECT_LT(single.norm, half.norm);
}

TEST(SampleDeviation, CountsWhatOnlyOneWrote) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), huge = INFINITY;
  const Tolerance limit = tolerance(Computation::kAgreement, DataType::kFloat32);
  EXPECT_TRUE(sample_deviation({1, nan, 2}, {1, nan, 2}, limit).agrees());
  EXPECT_FALSE(sample_deviation({1, nan, 2}, {1, 3, 2}, limit).agrees());
  EXPECT_TRUE(sample_deviation({1, huge}, {1, huge}, limit).agrees());
  EXPECT_FALSE(sample_deviation({1, huge}, {1, 2}, limit).agrees());
  EXPECT_NEAR(sample_deviation({3, 4.5}, {3, 4}, limit).norm, 0.1, 1e-6);
}

}  // namespace
}  // namespace tenon
