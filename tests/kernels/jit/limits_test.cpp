// Refusals of our own tactics, with reasons: problems that their kernels would compute wrongly, or
// that the GPU has no room for. Devices are described; large tensors have no contents.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "device/cuda/nvrtc.h"
#include "kernels/jit/kernel_case.h"
#include "kernels/jit/plan.h"
#include "kernels/tactic.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16, kFloat = DataType::kFloat32;
constexpr Layout kLast = Layout::kChannelsLast;

const Tactic& tactic_of(std::string_view name) {
  for (const Tactic& tactic : cuda_tactics())
    if (tactic.name == name) return tactic;
  ADD_FAILURE() << "no tactic " << name;
  return cuda_tactics().front();
}

/// Empty where the tactic takes it, else why not.
std::string refusal(KernelCase& one, std::string_view tactic, int capability = 90) {
  DescribedDevice device = described_gpu(capability);
  return tactic_of(tactic).supports(one.describe(&device)).reason;
}

Conv conv_of(std::vector<int64_t> begin, std::vector<int64_t> end, int64_t stride = 1,
             int64_t groups = 1) {
  Conv op;
  op.groups = groups;
  op.strides.assign(begin.size(), stride);
  op.pads_begin = std::move(begin);
  op.pads_end = std::move(end);
  return op;
}

KernelCase image_conv(Conv op, Extents x, Extents weights) {
  return KernelCase("conv", std::move(op),
                    std::vector{input(random_reals(kHalf, std::move(x), 1), kLast),
                                constant(random_reals(kHalf, std::move(weights), 2))});
}

TEST(JitLimits, DepthwiseKernelsKnowTwoAxes) {
  KernelCase plane = image_conv(conv_of({1, 1}, {1, 1}, 1, 16), {1, 16, 6, 5}, {16, 1, 3, 3});
  KernelCase volume =
      image_conv(conv_of({0, 1, 1}, {0, 1, 1}, 1, 16), {1, 16, 4, 6, 5}, {16, 1, 1, 3, 3});
  plane.output_layout(kLast), volume.output_layout(kLast);
  EXPECT_EQ(refusal(plane, "cuda.conv.depthwise"), "");
  EXPECT_EQ(refusal(volume, "cuda.conv.depthwise"), "three spatial axes; takes two");
}

TEST(JitLimits, MatrixConvolutionsDoNotPadTheFirstOfThreeAxes) {
  KernelCase volume =
      image_conv(conv_of({1, 1, 1}, {1, 1, 1}), {1, 16, 1, 6, 5}, {16, 16, 1, 3, 3});
  volume.output_layout(kLast);
  EXPECT_EQ(refusal(volume, "cuda.conv.matrix"), "three spatial axes; takes two");
}

TEST(JitLimits, StemsAreNotCropped) {
  for (const int64_t pad : {1, -1}) {
    KernelCase stem = image_conv(conv_of({pad, pad}, {pad, pad}, 2), {1, 3, 16, 16}, {16, 3, 3, 3});
    stem.output_layout(kLast);
    EXPECT_EQ(refusal(stem, "cuda.conv.stem"), pad < 0 ? "an image that is cropped" : "");
  }
}

TEST(JitLimits, StemsFitSharedMemory) {
  KernelCase wide = image_conv(conv_of({3, 3}, {3, 3}, 8), {1, 3, 64, 64}, {64, 3, 7, 7});
  wide.output_layout(kLast);
  EXPECT_EQ(refusal(wide, "cuda.conv.stem", 80), "");
  KernelCase again = image_conv(conv_of({3, 3}, {3, 3}, 8), {1, 3, 64, 64}, {64, 3, 7, 7});
  again.output_layout(kLast);
  EXPECT_NE(refusal(again, "cuda.conv.stem", 86).find("shared memory"), std::string::npos);
}

TEST(JitLimits, PoolingDoesNotAddIntegersUpInTheirType) {
  for (const PoolFunction function : {PoolFunction::kMax, PoolFunction::kAverage}) {
    Pool op;
    op.function = function;
    op.kernel = {2, 2};
    KernelCase pool("pool", op,
                    std::vector{input(random_integers(DataType::kInt8, {1, 4, 6, 6}, 1, -99, 99))});
    EXPECT_EQ(refusal(pool, "cuda.pool.direct").empty(), function == PoolFunction::kMax);
  }
}

TEST(JitLimits, SoftmaxOfChosenDoublesIsNotAddedUpInFloats) {
  for (const DataType type : {kFloat, DataType::kFloat64}) {
    TopK op;
    op.softmax = true;
    KernelCase top("topk", op,
                   std::vector{input(random_reals(type, {3, 20}, 1)),
                               constant(Tensor::vector_i64(std::vector<int64_t>{4}))},
                   2);
    EXPECT_EQ(refusal(top, "cuda.topk").empty(), type == kFloat);
  }
}

TEST(JitLimits, LaunchesFitTheGpu) {
  DescribedDevice turing = described_gpu(75), ada = described_gpu(89), ampere = described_gpu(80),
                  hopper = described_gpu(90), consumer = described_gpu(120);
  Problem problem;
  const std::pair<DescribedDevice*, int> limits[] = {
      {&turing, 64}, {&ampere, 163}, {&ada, 99}, {&hopper, 227}, {&consumer, 99}};
  for (const auto& [device, kibibytes] : limits) {
    problem.device = device;
    JitPlan plan{{JitLaunch{}}, 0, {}, {}};
    plan.launches[0].shared_bytes = kibibytes * 1024;
    EXPECT_TRUE(check_launches(problem, plan).ok());
    ++plan.launches[0].shared_bytes;
    EXPECT_FALSE(check_launches(problem, plan).ok());
    plan.launches[0].shared_bytes = 0;
    plan.launches[0].block[0] = 1025;
    EXPECT_FALSE(check_launches(problem, plan).ok());
  }
}

TEST(JitLimits, TheCopyEngineTakesNothingEmpty) {
  JitTensorMap map{JitArgument::input(0), kHalf, {64, 8, 1}, {1, 64, 512}, {64, 8, 1}, {}};
  EXPECT_TRUE(check_map(map, 128).ok());
  map.extents[1] = 0;
  EXPECT_FALSE(check_map(map, 128).ok());
}

/// Columns are numbered in 32 bits, whatever the tensor's size.
TEST(JitLimits, ColumnsAreCounted) {
  DescribedDevice device = described_gpu(90);
  Reduce sum;
  sum.axes = {0};
  Softmax softmax;
  softmax.axes = {0};
  KernelCase reduced("reduce", sum, std::vector{input(random_reals(kHalf, {2, 64}, 1))});
  KernelCase shares("softmax", softmax, std::vector{input(random_reals(kHalf, {2, 64}, 1))});
  for (const auto& [one, name] :
       {std::pair(&reduced, "cuda.reduce"), std::pair(&shares, "cuda.softmax.columns")}) {
    Problem problem = one->describe(&device);
    for (const int64_t columns : {int64_t{1} << 30, int64_t{3} << 30}) {
      problem.inputs[0].extents.back() = problem.outputs[0].extents.back() = columns;
      EXPECT_EQ(tactic_of(name).supports(problem).yes, columns <= INT32_MAX) << name;
    }
  }
}

/// Bounds that only the device knows, with extents that are known all the same.
TEST(JitFormulas, SlicesByComputedBoundsCompile) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice device = described_gpu(90);
  KernelCase slice("slice", Slice(),
                   std::vector{input(random_reals(kHalf, {5, 20}, 1)), list({1}), list({19}),
                               list({1}), list({2})});
  Problem problem = slice.describe(&device);
  for (size_t i = 1; i < problem.inputs.size(); ++i) problem.inputs[i].constant = nullptr;
  EXPECT_FALSE(tactic_of("cuda.pick").supports(problem));
  const Tactic& tactic = tactic_of("cuda.any.formula");
  ASSERT_TRUE(tactic.supports(problem)) << tactic.supports(problem).reason;
  const auto kernel = tactic.create(problem, "");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
}

/// More products of inputs than 32 bits count, of operands that they do.
TEST(JitLimits, RecurrencesCountTheirProducts) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice device = described_gpu(90);
  Rnn op;
  op.cell = RnnKind::kLstm;
  op.hidden = 384;
  KernelCase small("rnn", op,
                   std::vector{input(random_reals(kFloat, {2, 1, 4}, 1)),
                               constant(random_reals(kFloat, {1, 4 * 384, 4}, 2)),
                               constant(random_reals(kFloat, {1, 4 * 384, 384}, 3))});
  Problem problem = small.describe(&device);
  constexpr int64_t kSteps = 1000, kBatch = 4000;
  problem.inputs[0].extents = {kSteps, kBatch, 4};
  problem.outputs[0].extents = {kSteps, 1, kBatch, 384};
  ASSERT_TRUE(small_indices(problem));
  const Tactic& tactic = tactic_of("cuda.rnn.steps");
  const Support support = tactic.supports(problem);
  ASSERT_TRUE(support) << support.reason;
  const auto kernel = tactic.create(problem, "");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
}

/// Sums that leave the tensor cores on the way take registers of which large tiles have none.
TEST(JitLimits, LongSumsOfFloatsHaveTheTilesOfIntegers) {
  DescribedDevice device = described_gpu(90);
  Cases cases = quantized_cases();
  const auto found = std::ranges::find_if(
      cases, [](const auto& one) { return one->name == "hopper quantized floats 7"; });
  ASSERT_NE(found, cases.end());
  Problem problem = (*found)->describe(&device);
  const auto offers = [&](std::string_view tiling) {
    const std::vector<std::string> configs = tactic_of("cuda.quantized.hopper").configs(problem);
    return std::ranges::any_of(configs,
                               [&](std::string_view config) { return config.starts_with(tiling); });
  };
  EXPECT_TRUE(offers("m=128,n=192"));
  problem.numerics = problem.numerics.exact();
  EXPECT_FALSE(offers("m=128,n=192"));
  EXPECT_TRUE(offers("m=64,n=128"));
}

/// Configurations of a product with weights of 4 bits.
std::vector<std::string> decoding_configs(int64_t rows, int64_t depth, int64_t columns) {
  Dequantize op;
  op.axis = 0, op.block_size = 128, op.to = kHalf;
  Cases cases;
  KernelCase& one =
      add(cases, "decoding", op,
          std::vector{constant(random_integers(DataType::kInt4, {depth, columns}, 1, -8, 7)),
                      constant(random_reals(kHalf, {depth / 128, columns}, 2, 0.01, 0.02))})
          .into_second(MatMul{}, input(random_reals(kHalf, {rows, depth}, 3)));
  DescribedDevice device = described_gpu(90);
  return tactic_of("cuda.quantized.weights").configs(one.describe(&device));
}

/// One or two rows are multiplied as integers or as they are, more rows as they are, in registers
/// or in shared memory; half of a warp's places are asked for at a time, or all.
TEST(JitLimits, DecodingIsOfferedInBothForms) {
  const auto count = [](const std::vector<std::string>& configs, std::string_view part) {
    return std::ranges::count_if(
        configs, [&](const std::string& config) { return config.find(part) != std::string::npos; });
  };
  for (const int64_t rows : {1, 2}) {
    const auto configs = decoding_configs(rows, 4096, 1024);
    EXPECT_GT(count(configs, "digits=1"), 0) << rows;
    EXPECT_GT(count(configs, "ahead=0"), 0) << rows;
    EXPECT_GT(count(configs, "slots=2,window=1,lets=60,ahead=2,digits=1"), 0) << rows;
    EXPECT_GT(count(configs, "slots=2,window=2,lets=60,ahead=2,digits=1"), 0) << rows;
    EXPECT_EQ(std::set(configs.begin(), configs.end()).size(), configs.size()) << rows;
  }
  for (const int64_t rows : {3, 8}) {
    const auto configs = decoding_configs(rows, 4096, 1024);
    EXPECT_EQ(count(configs, "digits=0"), static_cast<int64_t>(configs.size())) << rows;
    for (const int ahead : {0, 1, 2})
      EXPECT_GT(count(configs, fmt::format("ahead={}", ahead)), 0) << rows << ", " << ahead;
  }
}

}  // namespace
}  // namespace tenon::test
