#include "kernels/conv/grouped.h"

#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

// Channels of a group from less than half a vector to more than two, and other numbers of them
// behind the convolution than before.
TEST(GroupedConvolution, Channels) {
  for (const int64_t each : {2, 3, 4, 6, 8, 12, 16, 17, 24, 30, 32, 40, 56, 72})
    check_everywhere<GroupedConvolution>(ConvCase(conv2d(3 * each, 3 * each, 5, 3, 1, 1, 3)));
  check_everywhere<GroupedConvolution>(ConvCase(conv2d(32, 64, 6, 3, 1, 1, 8)));
  check_everywhere<GroupedConvolution>(ConvCase(conv2d(60, 12, 6, 3, 1, 1, 4)));
  check_everywhere<GroupedConvolution>(ConvCase(conv2d(64, 64, 6, 3, 1, 1, 16)));
}

TEST(GroupedConvolution, KernelsStridesPaddingDilation) {
  for (const ConvProblem& p : {conv2d(32, 32, 14, 3, 2, 1, 4), conv2d(32, 32, 58, 3, 1, 1, 2),
                               conv2d(16, 16, 9, 5, 1, 2, 2), conv2d(24, 24, 11, 3, 1, 2, 3, 2),
                               conv2d(32, 32, 7, 1, 1, 0, 2), conv2d(16, 32, 8, 1, 2, 0, 2),
                               conv2d(16, 16, 6, 4, 3, 0, 2), conv2d(16, 16, 3, 5, 1, 4, 2),
                               conv2d(48, 48, 119, 3, 2, 1, 4), conv2d(16, 16, 5, 3, 1, 9, 2, 4)})
    check_everywhere<GroupedConvolution>(ConvCase(p));
}

TEST(GroupedConvolution, EpiloguesTypesAndWiderTensors) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(40, 40, 9, 3, 1, 1, 5);
    p.output_pixel_stride = 45, p.input_pixel_stride = 42;
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
    p.output_type = ElementType::bf16;
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
    p.input_type = p.weight_type = ElementType::bf16;
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
  }
}

// Pieces inside the image are read there, those at its borders are copied.
TEST(GroupedConvolution, OneGroup) {
  for (const ConvProblem& p :
       {conv2d(32, 32, 61, 3, 2, 1), conv2d(5, 7, 33, 3, 1, 1), conv2d(16, 48, 45, 5, 2, 2),
        conv2d(24, 40, 17, 3, 1, 2, 1, 2), conv2d(9, 33, 30, 1, 2), conv2d(20, 70, 32, 4, 4),
        conv2d(8, 3, 3, 3, 1, 1), conv2d(8, 16, 40, 7, 3, 0)})
    check_everywhere<GroupedConvolution>(ConvCase(p, 1));
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(20, 36, 35, 3, 2, 1);
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
    p.output_pixel_stride = 41, p.input_pixel_stride = 22;
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
    p.input_type = p.weight_type = p.output_type = ElementType::bf16;
    check_everywhere<GroupedConvolution>(ConvCase(p, which));
  }
}

TEST(GroupedConvolution, PaysAloneForFewWeightsWithWindows) {
  EXPECT_TRUE(GroupedConvolution::pays_alone(conv2d(32, 32, 20, 3, 2, 1)));
  EXPECT_TRUE(GroupedConvolution::pays_alone(conv2d(32, 32, 20, 1, 2)));
  EXPECT_FALSE(GroupedConvolution::pays_alone(conv2d(32, 32, 20, 1)));
  EXPECT_TRUE(GroupedConvolution::pays_alone(conv2d(160, 160, 20, 3, 2, 1)));
  EXPECT_FALSE(GroupedConvolution::pays_alone(conv2d(192, 192, 20, 3, 2, 1)));
  EXPECT_FALSE(GroupedConvolution::pays_alone(conv2d(32, 32, 20, 3, 2, 1, 2)));
}

TEST(GroupedConvolution, OneAxis) {
  ConvProblem one = conv2d(20, 20, 1, 1, 1, 0, 2);
  one.input = {1, 1, 130}, one.kernel = {1, 1, 9}, one.stride = {1, 1, 2}, one.pad = {0, 0, 3};
  one.output = {1, 1, 64};
  check_everywhere<GroupedConvolution>(ConvCase(one, 1));
}

TEST(GroupedConvolution, RefusesOthers) {
  EXPECT_FALSE(GroupedConvolution::prepare(conv2d(8, 8, 4, 3, 1, 1, 8), nullptr).ok());
  EXPECT_FALSE(GroupedConvolution::prepare(conv2d(8, 8, 4, 3, 1, 1, 2), nullptr).ok());
  EXPECT_TRUE(GroupedConvolution::fits(conv2d(8, 8, 40, 3, 1, 16, 2, 16)));
  EXPECT_FALSE(GroupedConvolution::fits(conv2d(8, 8, 600, 3, 1, 256, 2, 256)));
}

}  // namespace
}  // namespace tenon::cpu
