#include "kernels/conv/stem.h"

#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

ConvProblem image(ConvProblem problem) {
  problem.channels_first_input = true;
  return problem;
}

TEST(StemConvolution, StridesPaddingDilationAndShortLines) {
  for (const ConvProblem& p :
       {conv2d(3, 40, 61, 7, 2, 3), conv2d(1, 16, 30, 3, 1, 1), conv2d(4, 33, 36, 4, 4),
        conv2d(3, 5, 19, 3, 2, 0, 1, 2), conv2d(3, 70, 3, 3, 1, 1), conv2d(2, 32, 1, 1)})
    check_everywhere<StemConvolution>(ConvCase(image(p), 1));
}

TEST(StemConvolution, OneChannelInAnyLayout) {
  for (const ConvProblem& p : {conv2d(1, 16, 30, 3, 1, 1), conv2d(1, 40, 19, 5, 2, 2)})
    check_everywhere<StemConvolution>(ConvCase(p, 1));
}

TEST(StemConvolution, Depth) {
  for (const ConvProblem& p : {conv2d(1, 16, 17, 3, 1, 1), image(conv2d(2, 33, 12, 3, 2, 1))}) {
    check_everywhere<StemConvolution>(ConvCase(conv3d(p, 7, 3, 1, 1), 1));
    check_everywhere<StemConvolution>(ConvCase(conv3d(p, 8, 3, 2, 0, 2), 1));
  }
}

TEST(StemConvolution, Epilogues) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = image(conv2d(3, 36, 31, 3, 2, 1));
    if (!StemConvolution::fits(ConvCase(p, which).problem)) continue;  // an operand per pixel
    p.output_pixel_stride = 41;
    check_everywhere<StemConvolution>(ConvCase(p, which));
    p.output_type = ElementType::bf16;
    check_everywhere<StemConvolution>(ConvCase(p, which));
  }
}

TEST(StemConvolution, LeavesOtherProblemsAlone) {
  EXPECT_FALSE(StemConvolution::fits(conv2d(3, 8, 9, 3)));
  EXPECT_FALSE(StemConvolution::fits(image(conv2d(4, 8, 9, 3, 1, 1, 2))));
  EXPECT_FALSE(StemConvolution::fits(image(conv2d(3, 8, 30, 3, 3))));
  EXPECT_FALSE(StemConvolution::fits(image(conv2d(64, 8, 9, 3))));
}

}  // namespace
}  // namespace tenon::cpu
