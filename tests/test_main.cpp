// Runs a program's tests. Exit code 77 tells ctest that all of them were skipped: a test that needs
// a GPU is never counted as passed without one.
#include <gtest/gtest.h>

#include <cstdio>

namespace {

constexpr int kSkipped = 77;

bool all_skipped() {
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  // An environment that skips (tests/api/gpu) leaves its reason outside of any test, and the tests
  // count as passed.
  if (tests.ad_hoc_test_result().Skipped()) return true;
  return tests.skipped_test_count() > 0 && tests.successful_test_count() == 0;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (result != 0 || !all_skipped()) return result;
  std::puts("all tests of this program were skipped");
  return kSkipped;
}
