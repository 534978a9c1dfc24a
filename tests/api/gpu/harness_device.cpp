#include <iostream>

#include "harness.h"

namespace api_test {
namespace {

Log& device_log() {
  static Log log;
  return log;
}

/// Skips all tests where there is no GPU.
class NeedsGpu final : public testing::Environment {
 public:
  void SetUp() override {
    if (gpu() == nullptr) GTEST_SKIP() << "no GPU: " << device_log().text();
    std::cout << gpu()->describe().name << ", " << gpu()->describe().libraries << '\n';
  }
};

const testing::Environment* const kNeedsGpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace

tenon::IGpu* gpu() {
  static tenon::IGpu* const device = tenon::openGpu(0, device_log());
  return device;
}

}  // namespace api_test
