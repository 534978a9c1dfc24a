// The forms that lines of an interpolation are computed in.
#include "kernels/resize/resize.h"

#include <gtest/gtest.h>

namespace tenon::cpu {
namespace {

/// Taps of one axis: result i is the mean of elements i * step and i * step + 1.
ResizeProblem means(int64_t outputs, int64_t step) {
  ResizeAxis axis{.input = outputs * step + 1, .output = outputs, .from = 1, .to = 1};
  axis.resized = true;
  for (int64_t i = 0; i < outputs; ++i) {
    axis.first.push_back(2 * i);
    for (const int64_t tap : {0, 1}) axis.weights.push_back({i * step + tap, 0.5f});
  }
  axis.first.push_back(2 * outputs);
  ResizeProblem problem;
  problem.axes = {axis};
  prepare_spread(problem);
  return problem;
}

TEST(Resize, LinesGoByVectorsWhereTapsLieWithinTwo) {
  if (detected_isa() == Isa::generic) GTEST_SKIP() << "no wider vectors";
  const ResizeProblem near = means(40, 1);
  EXPECT_EQ(near.spread.taps, 2);
  EXPECT_EQ(near.spread.first.front(), 0);
  EXPECT_EQ(means(40, 3).spread.taps, 0);
}

}  // namespace
}  // namespace tenon::cpu
