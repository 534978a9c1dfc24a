#include "kernels/conv/direct.h"

#include <algorithm>

#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

// Every second or every row of the image falls on the same sets of a cache; few rows and columns.
TEST(DirectConvolution, RowsThatShareCacheSets) {
  for (int64_t channels : {512, 1024}) {
    ConvProblem p = conv2d(channels, 40, 7, 1);
    p.batch = 1;
    for (int which : {0, 2, 8}) check_everywhere<DirectConvolution>(ConvCase(p, which));
  }
}

TEST(DirectConvolution, KernelsStridesPaddingDilationGroups) {
  for (const ConvProblem& p :
       {conv2d(16, 40, 9, 1), conv2d(5, 7, 8, 3, 1, 1), conv2d(3, 33, 15, 7, 2, 3),
        conv2d(8, 8, 10, 3, 2, 1, 4), conv2d(6, 12, 11, 3, 1, 2, 3, 2), conv2d(7, 7, 9, 5, 1, 2, 7),
        conv2d(130, 20, 5, 3, 1, 1), conv2d(64, 70, 6, 1, 2), conv2d(512, 33, 3, 1),
        conv2d(4, 4, 3, 3, 1, 3), conv2d(16, 16, 7, 1, 1, 0, 2)})
    check_everywhere<DirectConvolution>(ConvCase(p));
}

// Threads share the work.
TEST(DirectConvolution, PacksManyWeights) {
  for (ConvProblem p :
       {conv2d(256, 130, 2, 3, 1, 1), conv2d(512, 270, 2, 3, 1, 1, 2), conv2d(1100, 300, 2, 1)})
    check_everywhere<DirectConvolution>(ConvCase(p));
}

TEST(DirectConvolution, Epilogues) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(6, 36, 7, 3, 1, 1, which % 2 + 1);
    p.output_pixel_stride = 41;
    check_everywhere<DirectConvolution>(ConvCase(p, which));
    p.output_type = ElementType::bf16;
    check_everywhere<DirectConvolution>(ConvCase(p, which));
  }
}

// Windows of which most taps meet padding: the image is cut into parts that meet the same ones.
TEST(DirectConvolution, WindowsWiderThanTheImage) {
  for (ConvProblem p : {conv2d(8, 40, 14, 3, 1, 12, 1, 12), conv2d(16, 33, 9, 3, 1, 6, 1, 6),
                        conv2d(300, 20, 5, 3, 1, 4, 1, 4), conv2d(12, 24, 10, 3, 2, 8, 3, 8),
                        conv2d(6, 10, 20, 3, 1, 30, 1, 16), conv2d(7, 9, 33, 3, 1, 16, 1, 16)}) {
    check_everywhere<DirectConvolution>(ConvCase(p));
    p.output_pixel_stride = p.output_channels + 3;
    for (int which = 1; which < kEpilogues; ++which)
      check_everywhere<DirectConvolution>(ConvCase(p, which));
  }
  for (ConvProblem p : {conv2d(8, 40, 14, 3, 1, 12, 1, 12), conv2d(7, 9, 33, 3, 1, 16, 1, 16)}) {
    p.input_type = p.weight_type = p.output_type = p.compute = ElementType::bf16;
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
  }
  ConvProblem three = conv2d(4, 5, 6, 3, 1, 5, 1, 5);
  three.input[0] = 4, three.kernel[0] = 2, three.output[0] = 3;
  check_everywhere<DirectConvolution>(ConvCase(three, 2));
}

TEST(DirectConvolution, ChannelsFirstInput) {
  for (ConvProblem p :
       {conv2d(3, 16, 15, 7, 2, 3), conv2d(4, 6, 8, 3, 1, 1, 2), conv2d(5, 9, 12, 3, 2, 2, 1, 2)}) {
    p.channels_first_input = true;
    check_everywhere<DirectConvolution>(ConvCase(p, 3));
  }
}

TEST(DirectConvolution, InsideWiderTensors) {
  for (ConvProblem p : {conv2d(8, 8, 6, 1), conv2d(8, 8, 6, 3, 1, 1)}) {
    p.input_pixel_stride = 11;
    p.output_pixel_stride = 20;
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
  }
}

TEST(DirectConvolution, OneAndThreeDimensions) {
  ConvProblem one = conv2d(10, 12, 1, 1);
  one.input = {1, 1, 30}, one.kernel = {1, 1, 5}, one.stride = {1, 1, 2}, one.pad = {0, 0, 1};
  one.output = {1, 1, 14};
  check_everywhere<DirectConvolution>(ConvCase(one, 1));
  ConvProblem three = conv2d(3, 5, 5, 3, 1, 1);
  three.input[0] = 6, three.kernel[0] = 3, three.pad[0] = 1, three.stride[0] = 2;
  three.output[0] = 3;
  check_everywhere<DirectConvolution>(ConvCase(three, 2));
}

TEST(DirectConvolution, Transposed) {
  struct Sizes {
    int64_t kernel, stride, pad, dilation, groups;
  };
  for (const Sizes& s : {Sizes{2, 2, 0, 1, 1}, Sizes{3, 2, 1, 1, 2}, Sizes{4, 2, 1, 1, 1},
                         Sizes{3, 1, 1, 2, 1}, Sizes{2, 3, 0, 1, 1}, Sizes{5, 3, 2, 2, 1}}) {
    ConvProblem p = conv2d(6, 8, 5, 1, 1, 0, s.groups);
    p.transposed = true;
    for (int i = 1; i < 3; ++i) {
      p.kernel[i] = s.kernel, p.stride[i] = s.stride, p.pad[i] = s.pad, p.dilation[i] = s.dilation;
      p.output[i] =
          (p.input[i] - 1) * s.stride + s.dilation * (s.kernel - 1) + 1 - 2 * s.pad + i - 1;
    }
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
    check_everywhere<DirectConvolution>(ConvCase(p, 5));
  }
}

// Few channels: neighbouring pixels are columns of one product; short lines of images are one
// product.
TEST(DirectConvolution, TransposedToFewChannels) {
  struct Sizes {
    int64_t kernel, stride, pad, dilation, more, channels, extent;
  };
  for (const Sizes& s :
       {Sizes{4, 2, 1, 1, 0, 3, 5}, Sizes{2, 2, 0, 1, 0, 40, 7}, Sizes{3, 2, 1, 1, 1, 1, 9},
        Sizes{8, 4, 2, 1, 0, 5, 6}, Sizes{5, 3, 1, 1, 0, 2, 4}, Sizes{3, 2, 2, 2, 1, 3, 6},
        Sizes{16, 8, 4, 1, 0, 1, 70}, Sizes{3, 4, 0, 1, 1, 6, 3}, Sizes{4, 2, 5, 1, 0, 3, 9}}) {
    ConvProblem p = conv2d(6, s.channels, s.extent, 1);
    p.transposed = true, p.batch = 3;
    p.input[1] = std::min<int64_t>(s.extent, 9);  // The reference is slow.
    for (int i = 1; i < 3; ++i) {
      p.kernel[i] = s.kernel, p.stride[i] = s.stride, p.pad[i] = s.pad, p.dilation[i] = s.dilation;
      p.output[i] =
          (p.input[i] - 1) * s.stride + s.dilation * (s.kernel - 1) + 1 - 2 * s.pad + s.more;
    }
    for (int which = 0; which < kEpilogues; ++which)
      check_everywhere<DirectConvolution>(ConvCase(p, which));
    p.input_type = p.weight_type = p.output_type = p.compute = ElementType::bf16;
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
  }
}

TEST(DirectConvolution, TransposedVolumes) {
  for (const int64_t depth : {1, 3}) {
    ConvProblem p = conv2d(4, 3, 4, 2, 2);
    p.transposed = true, p.batch = 2;
    p.input[0] = depth, p.kernel[0] = 2, p.stride[0] = 2;
    p.output = {2 * depth, 8, 8};
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
  }
}

TEST(DirectConvolution, Bf16) {
  for (ConvProblem p : {conv2d(16, 40, 9, 1), conv2d(5, 7, 8, 3, 1, 1), conv2d(3, 33, 15, 7, 2, 3),
                        conv2d(7, 9, 5, 1), conv2d(66, 20, 7, 3, 2, 1, 2)}) {
    p.compute = p.input_type = p.weight_type = ElementType::bf16;
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
    p.output_type = ElementType::bf16;
    check_everywhere<DirectConvolution>(ConvCase(p, 2));
  }
}

TEST(DirectConvolution, RefusesWhatItCannotDo) {
  ConvProblem p = conv2d(4, 4, 4, 1);
  p.transposed = p.channels_first_input = true;
  EXPECT_FALSE(DirectConvolution::prepare(p, nullptr).ok());
  p = conv2d(4, 4, 4, 1, 1, 0, 3);
  EXPECT_FALSE(DirectConvolution::prepare(p, nullptr).ok());
}

}  // namespace
}  // namespace tenon::cpu
