#include <iostream>

#include "harness.h"

namespace api_test {
namespace {

Log& device_log() {
  static Log log;
  return log;
}

/// Skips each test where there is no GPU: were the program's set-up skipped, tests that never ran
/// would count as passed.
class NeedsGpu final : public testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const testing::UnitTest&) override {
    if (gpu() != nullptr)
      std::cout << gpu()->describe().name << ", " << gpu()->describe().libraries << '\n';
  }
  void OnTestStart(const testing::TestInfo&) override {
    if (gpu() == nullptr) GTEST_SKIP() << "no GPU: " << device_log().text();
  }
};

[[maybe_unused]] const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NeedsGpu);
  return true;
}();

}  // namespace

tenon::IGpu* gpu() {
  static tenon::IGpu* const device = tenon::openGpu(0, device_log());
  return device;
}

}  // namespace api_test
