// Kernels that read operands before the launch ahead has ended come behind a fence.
#include "one_kernel.h"

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
  run_with_one_kernel<Hasty>(device, "cuda.hasty", text);
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
