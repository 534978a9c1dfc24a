// Kernels that read operands before the launch ahead has ended come behind a fence.
#include <gtest/gtest.h>

#include "../select/made_up_device.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "ops/table.h"
#include "kernels/constant_store.h"
#include "runtime/program.h"

namespace tenon {
namespace {

/// Computes nothing. Its second operand is read early.
class Hasty final : public Kernel {
 public:
  explicit Hasty(MadeUpDevice& device) : device_(device) {}
  Status run(const LaunchArguments&) const override {
    device_.launches.push_back('h');
    return {};
  }
  bool reads_early(int input) const override { return input == 1; }

 private:
  MadeUpDevice& device_;
};

Launches launches_of(const char* text) {
  const auto device = std::make_shared<MadeUpDevice>();
  Tactic row = cpu_tactics().back();
  row.name = "cuda.hasty", row.device = DeviceKind::kCuda;
  row.supports = [](const Problem&) { return Support{}; };
  row.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(
        std::make_unique<Hasty>(static_cast<MadeUpDevice&>(*problem.device)));
  };
  const Backend backend{.device = device, .tactics = {&row, 1}};
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(infer_graph(**graph).ok());
  auto concrete = ConcreteGraph::create(**graph, {});
  EXPECT_TRUE(concrete.ok());
  ConstantStore constants(*device);
  const auto program = Program::create(backend, constants, std::move(*concrete), 1);
  EXPECT_TRUE(program.ok()) << program.error().message;
  std::vector<float> memory(1024);
  void* const x = memory.data();
  void* const y = memory.data() + 512;
  std::vector<void*> pointers;
  EXPECT_TRUE((*program)->run(backend, {&x, 1}, {&y, 1}, x, {}, pointers, nullptr).ok());
  return device->launches;
}

TEST(Fences, ComeBetweenAnOperandAndItsHastyReader) {
  EXPECT_EQ(launches_of(R"(graph "" (%0 "x": f32[8]) {
    %1 = exp(%0) : f32[8]
    %2 = add(%0, %1) : f32[8]
    return %2})"),
            Launches({'h', '|', 'h'}));
}

TEST(Fences, AreLeftOutWhereAnotherLaunchLiesBetween) {
  EXPECT_EQ(launches_of(R"(graph "" (%0 "x": f32[8]) {
    %1 = exp(%0) : f32[8]
    %2 = log(%0) : f32[8]
    %3 = add(%2, %1) : f32[8]
    return %3})"),
            Launches({'h', 'h', 'h'}));
}

TEST(Fences, AreLeftOutForOperandsThatAreWaitedFor) {
  EXPECT_EQ(launches_of(R"(graph "" (%0 "x": f32[8]) {
    %1 = exp(%0) : f32[8]
    %2 = add(%1, %0) : f32[8]
    return %2})"),
            Launches({'h', 'h'}));
}

}  // namespace
}  // namespace tenon
