#include "kernels/conv/expanded.h"

#include "base/stopwatch.h"
#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

Result<ExpandedDepthwise> prepared(int64_t batch, int threads) {
  constexpr int64_t kFrom = 16, kTo = 96, kSize = 28;
  static const std::vector<float> weights(kFrom * kTo);
  ConvProblem expand = conv2d(kFrom, kTo, kSize, 1, 1, 0);
  ConvProblem depthwise = conv2d(kTo, kTo, kSize, 3, 1, 1, kTo);
  for (ConvProblem* problem : {&expand, &depthwise}) {
    problem->batch = batch, problem->threads = threads;
    *problem = problem->with_strides();
  }
  return ExpandedDepthwise::prepare(expand, depthwise, weights.data(), weights.data());
}

// A shape that is new to a plan is planned while an application waits.
TEST(ExpandedDepthwise, ManyImagesArePlannedAsFastAsFew) {
  for (const int threads : {2, 3}) {
    const auto few = prepared(threads, threads);
    ASSERT_TRUE(few.ok()) << few.error().message;
    constexpr int64_t kTimes = 1 << 20;
    CoreStopwatch watch;
    const auto many = prepared(kTimes * threads, threads);
    EXPECT_LT(watch.lap(), 0.5);
    ASSERT_TRUE(many.ok()) << many.error().message;
    // Each thread has as many images: their bands are those of one.
    EXPECT_EQ(many->fetch_capacity(), kTimes * few->fetch_capacity());
    EXPECT_TRUE(prepared(kTimes * threads + 1, threads).ok());
  }
}

}  // namespace
}  // namespace tenon::cpu
