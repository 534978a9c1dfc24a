// A device of neither kind that is built in: plans are made and run by its capabilities alone.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "device/described_device.h"
#include "device/kernel_threads.h"
#include "graphs.h"
#include "kernels/backend.h"
#include "ops/numerics.h"

namespace tenon {
namespace {

constexpr DeviceKind kCountingKind{17};
constexpr uintptr_t kMultiple = 64;
constexpr Capabilities kOfItsOwn{.host_addresses = false,
                                 .host_cores = false,
                                 .waits_for_kernels = true,
                                 .compiles_kernels = false,
                                 .packs_constants = false,
                                 .replays_launches = false,
                                 .operand_multiple = kMultiple};

/// Memory of the host, and how often each member was called.
class CountingDevice final : public Device {
 public:
  explicit CountingDevice(const Capabilities& capabilities = kOfItsOwn)
      : capabilities_(capabilities) {
    properties_.kind = kCountingKind;
    properties_.name = "a device that counts";
    properties_.architecture = "counting";
    properties_.compute_units = 64;
  }
  const DeviceProperties& properties() const override { return properties_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Result<DeviceBuffer> allocate(size_t bytes) override {
    ++calls["allocate"];
    return DeviceBuffer(std::aligned_alloc(256, (bytes / 256 + 1) * 256),
                        [](void* memory) { std::free(memory); });
  }
  Status upload(void* device, const void* host, size_t bytes, Queue) override {
    ++calls["upload"];
    std::memcpy(device, host, bytes);
    return {};
  }
  Status download(void* host, const void* device, size_t bytes, Queue) override {
    ++calls["download"];
    std::memcpy(host, device, bytes);
    return {};
  }
  Status copy(void* to, const void* from, size_t bytes, Queue) override {
    ++calls["copy"];
    std::memmove(to, from, bytes);
    return {};
  }
  Status synchronize(Queue) override { return {}; }
  Result<double> time(Queue, int, const std::function<Status()>& launch) override {
    ++calls["time"];
    TENON_TRY(launch());
    return 1.0;
  }

  std::map<std::string, int> calls;

 private:
  DeviceProperties properties_;
  const Capabilities capabilities_;
};

/// The operators' own evaluation.
class CountedKernel final : public Kernel {
 public:
  CountedKernel(const Problem& problem, std::unique_ptr<Kernel> inner)
      : device_(static_cast<CountingDevice&>(*problem.device)), inner_(std::move(inner)) {}
  Status run(const LaunchArguments& arguments) const override {
    ++device_.calls["run"];
    return inner_->run(arguments);
  }

 private:
  CountingDevice& device_;
  std::unique_ptr<Kernel> inner_;
};

Result<std::unique_ptr<Kernel>> counted(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(auto inner, cpu_tactics().back().create(problem, config));
  return std::unique_ptr<Kernel>(std::make_unique<CountedKernel>(problem, std::move(inner)));
}

/// Two rows for products, so that there is something to time, and one that takes anything.
std::array<Tactic, 3> rows() {
  Tactic anything = cpu_tactics().back();
  anything.device = kCountingKind;
  anything.create = counted;
  anything.name = "counting.reference";
  Tactic product = anything;
  product.traits = {};
  product.takes = [](const Problem& problem) {
    return problem.operation.is<MatMul>() ? Support{} : Support::no("it is no product");
  };
  product.name = "counting.product";
  Tactic other = product;
  other.name = "counting.other_product";
  return {product, other, anything};
}

std::unique_ptr<Graph> network() {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim(4), Dim(16)}});
  Value* w = graph->add_constant(numbers({16, 16}, 1, 0.1), "w");
  Value* product = graph->add_node(std::make_unique<MatMul>(), {x, w}, 1, "product")->output();
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Node* last = graph->add_node(std::move(softmax), {product}, 1, "softmax");
  last->output()->name = "y";
  graph->add_output(last->output());
  return graph;
}

Result<Plan> plan_for(const Backend& backend) {
  CompileRequest request;
  request.graph = network();
  request.backend = backend;
  request.passes = pass_options_for(*backend.device);
  request.select.level = 3;
  TimingCache cache;
  NullLogger logger;
  return compile(std::move(request), cache, logger);
}

TEST(ThirdDevice, BuildsAndRunsPlans) {
  const auto device = std::make_shared<CountingDevice>();
  const std::array<Tactic, 3> tactics = rows();
  const Backend backend{.device = device, .tactics = tactics};
  Result<Plan> plan = plan_for(backend);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->device, kCountingKind);
  EXPECT_GE(device->calls["time"], 2) << "its kernels are timed";

  const auto engine = Engine::create(std::move(*plan), backend);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  device->calls.clear();
  const auto context = Context::create(*engine, 0);
  ASSERT_TRUE(context.ok()) << context.error().message;
  const Tensor x = numbers({4, 16}, 3, 0.2);
  alignas(kMultiple) float input[64], result[64];
  std::memcpy(input, x.bytes(), sizeof(input));
  ASSERT_TRUE((*context)->set_address("x", input).ok());
  ASSERT_TRUE((*context)->set_address("y", result).ok());
  const Status status = (*context)->enqueue();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(device->calls["run"], 2);
  EXPECT_EQ(device->calls["upload"], 1) << "the weights, which the host cannot hand over";

  const auto reference = engine_of(network());
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  const auto expected = run_engine(*reference, {x});
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  Tensor actual(DataType::kFloat32, {4, 16});
  std::memcpy(actual.mutable_bytes(), result, sizeof(result));
  const Deviation difference = compare_tensors(actual, (*expected)[0], nullptr,
                                               tolerance(Computation::kKernel, DataType::kFloat32));
  EXPECT_TRUE(difference.agrees()) << difference.describe();
}

TEST(ThirdDevice, RefusesAddressesThatItCannotUse) {
  const auto device = std::make_shared<CountingDevice>();
  const std::array<Tactic, 3> tactics = rows();
  const Backend backend{.device = device, .tactics = tactics};
  Result<Plan> plan = plan_for(backend);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto engine = Engine::create(std::move(*plan), backend);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 0);
  ASSERT_TRUE(context.ok()) << context.error().message;
  alignas(kMultiple) float memory[129] = {};
  ASSERT_TRUE((*context)->set_address("x", memory + 1).ok());
  ASSERT_TRUE((*context)->set_address("y", memory + 64).ok());
  const Status status = (*context)->enqueue();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("no multiple of 64"), std::string::npos)
      << status.error().message;
}

TEST(ThirdDevice, IsAskedForItsCapabilities) {
  const CountingDevice device, cores(kCpuCapabilities);
  EXPECT_EQ(kernel_threads(device), 1);
  EXPECT_EQ(kernel_threads(cores), 64);
  EXPECT_FALSE(pass_options_for(device).small_weights);
  EXPECT_TRUE(pass_options_for(cores).small_weights);
}

TEST(PassOptionsFor, FollowsTheTableOfFlags) {
  const auto options_of = [](int capability) {
    DeviceProperties gpu;
    gpu.kind = DeviceKind::kCuda;
    gpu.compute_capability = capability;
    return pass_options_for(DescribedDevice(gpu));
  };
  for (const int capability : {75, 80, 90, 100}) {
    const PassOptions options = options_of(capability);
    EXPECT_TRUE(options.widened_products && options.channels_last);
    EXPECT_FALSE(options.squeeze_regions || options.quantized_weights);
    EXPECT_EQ(options.quantized_regions, capability >= 80);
    EXPECT_EQ(options.float8_regions, capability >= 89);
    EXPECT_EQ(options.moments_in_products, capability == 90);
  }
  const PassOptions options = pass_options_for(CountingDevice(kCpuCapabilities));
  EXPECT_TRUE(options.quantized_regions && options.wide_heads && options.channels_last);
  EXPECT_FALSE(options.widened_products || options.float8_regions || options.moments_in_products);
}

}  // namespace
}  // namespace tenon
