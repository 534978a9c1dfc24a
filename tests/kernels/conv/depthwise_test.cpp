#include "kernels/conv/depthwise.h"

#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

TEST(DepthwiseConvolution, KernelsStridesPaddingDilation) {
  for (int64_t channels : {1, 16, 37, 64})
    for (const ConvProblem& p : {conv2d(channels, channels, 12, 3, 1, 1, channels),
                                 conv2d(channels, channels, 13, 3, 2, 1, channels),
                                 conv2d(channels, channels, 9, 5, 1, 2, channels),
                                 conv2d(channels, channels, 14, 5, 2, 2, channels),
                                 conv2d(channels, channels, 11, 3, 1, 2, channels, 2),
                                 conv2d(channels, channels, 6, 4, 1, 0, channels),
                                 conv2d(channels, channels, 3, 5, 1, 4, channels),
                                 conv2d(channels, channels, 8, 1, 1, 0, channels)})
      check_everywhere<DepthwiseConvolution>(ConvCase(p));
}

// Rows of any number of taps; lines are copied with their padding.
TEST(DepthwiseConvolution, WideWindows) {
  for (int64_t channels : {16, 37})
    for (ConvProblem p : {conv2d(channels, channels, 14, 7, 1, 3, channels),
                          conv2d(channels, channels, 15, 13, 1, 6, channels),
                          conv2d(channels, channels, 11, 9, 2, 4, channels),
                          conv2d(channels, channels, 4, 11, 1, 5, channels),
                          conv2d(channels, channels, 16, 5, 1, 4, channels, 2),
                          conv2d(channels, channels, 20, 6, 3, 2, channels),
                          conv2d(channels, channels, 7, 7, 1, 9, channels),
                          conv2d(channels, channels, 9, 2, 1, 1, channels)}) {
      check_everywhere<DepthwiseConvolution>(ConvCase(p, 2));
      p.input_pixel_stride = channels + 5, p.input_type = p.weight_type = ElementType::bf16;
      check_everywhere<DepthwiseConvolution>(ConvCase(p, 3));
    }
}

// Several blocks of channels for each band of lines.
TEST(DepthwiseConvolution, ManyChannelsInWideLines) {
  ConvProblem p = conv2d(150, 150, 30, 3, 1, 1, 150);
  p.batch = 1, p.output_pixel_stride = 160;
  for (int which = 0; which < kEpilogues; ++which)
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
}

TEST(DepthwiseConvolution, EpiloguesTypesAndWiderTensors) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(20, 20, 9, 3, 1, 1, 20);
    p.output_pixel_stride = 25, p.input_pixel_stride = 22;
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
    p.output_type = ElementType::bf16;
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
    p.input_type = p.weight_type = ElementType::bf16;
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
  }
}

TEST(DepthwiseConvolution, OneAndThreeDimensions) {
  ConvProblem one = conv2d(10, 10, 1, 1, 1, 0, 10);
  one.input = {1, 1, 30}, one.kernel = {1, 1, 7}, one.stride = {1, 1, 2}, one.pad = {0, 0, 3};
  one.output = {1, 1, 15};
  check_everywhere<DepthwiseConvolution>(ConvCase(one, 1));
  ConvProblem three = conv2d(3, 3, 5, 3, 1, 1, 3);
  three.input[0] = 6, three.kernel[0] = 3, three.pad[0] = 1, three.stride[0] = 2;
  three.output[0] = 3;
  check_everywhere<DepthwiseConvolution>(ConvCase(three, 2));
}

TEST(DepthwiseConvolution, RefusesOthers) {
  EXPECT_FALSE(DepthwiseConvolution::prepare(conv2d(4, 8, 4, 3, 1, 1, 4), nullptr).ok());
}

}  // namespace
}  // namespace tenon::cpu
