#include "kernels/conv/depthwise.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <optional>

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

// Numbers of lines that bands of equal height do not divide evenly among threads.
TEST(DepthwiseConvolution, BandsOfLines) {
  for (const int64_t size : {13, 28, 30, 31}) {
    ConvProblem p = conv2d(16, 16, size, 5, 1, 2, 16);
    p.batch = 1;
    check_everywhere<DepthwiseConvolution>(ConvCase(p));
  }
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

// Lines of every number of pixels that is computed together, whose taps share inputs.
TEST(DepthwiseConvolution, LongLinesOfStrideTwo) {
  for (int64_t size : {7, 16, 23, 40})
    for (int64_t kernel : {1, 3, 4, 5, 6, 7})
      for (int64_t channels : {16, 37})
        check_everywhere<DepthwiseConvolution>(
            ConvCase(conv2d(channels, channels, size, kernel, 2, kernel / 2, channels)));
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(21, 21, 33, 3, 2, 1, 21);
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
    p.input_type = p.weight_type = p.output_type = ElementType::bf16;
    check_everywhere<DepthwiseConvolution>(ConvCase(p, which));
  }
}

#if defined(__x86_64__)
/// Whether registers hold anything above their first 128 bits, or nothing where the processor does
/// not say.
std::optional<bool> holds_upper_parts() {
  uint32_t a, b, c, d;
  if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a & 4) == 0) return {};
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
  return (a & 4) != 0;
}

// Code for 128 bits would wait for them at each instruction.
TEST(DepthwiseConvolution, LeavesNoUpperParts) {
  if (detected_isa() == Isa::generic) GTEST_SKIP() << "no wider vectors";
  asm volatile("vpcmpeqd %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
  const std::optional<bool> used = holds_upper_parts();
  asm volatile("vzeroupper");
  const std::optional<bool> cleared = holds_upper_parts();
  if (used != true || cleared != false) GTEST_SKIP() << "the processor does not tell";
  for (int64_t kernel : {3, 5, 7, 9})
    for (int64_t stride : {1, 2, 3})
      for (Isa isa : {Isa::avx2, Isa::avx512}) {
        const std::vector<float> numbers(9 * 32 * 80, 1.0f);
        std::vector<float> output(20 * 32);
        DepthwiseLine line{.input = numbers.data(),
                           .weights = numbers.data(),
                           .weight_stride = 32,
                           .channels = 27,
                           .extents = {1, 1, 80},
                           .kernel = {1, 1, kernel},
                           .stride = {1, 1, stride},
                           .dilation = {1, 1, 1},
                           .pixel_stride = 32,
                           .pixels = 20,
                           .activation = RegisterActivation::clamp,
                           .output = output.data(),
                           .output_stride = 32};
        depthwise_function(capped_isa(isa))(line);
        EXPECT_EQ(holds_upper_parts(), false) << kernel << " taps, stride " << stride;
      }
}
#endif

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
