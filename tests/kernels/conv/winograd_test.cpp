#include "kernels/conv/winograd.h"

#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

template <class C> class Winograd : public testing::Test {};
using Sizes = testing::Types<WinogradConvolution<2>, WinogradConvolution<4>>;
TYPED_TEST_SUITE(Winograd, Sizes);

TYPED_TEST(Winograd, ExtentsChannelsPadding) {
  for (const ConvProblem& p :
       {conv2d(16, 32, 8, 3, 1, 1), conv2d(5, 7, 7, 3, 1, 1), conv2d(33, 70, 13, 3, 1, 0),
        conv2d(3, 130, 4, 3, 1, 1), conv2d(64, 16, 3, 3, 1, 2), conv2d(20, 20, 30, 3, 1, 1),
        conv2d(1, 1, 1, 3, 1, 1)})
    check_everywhere<TypeParam>(ConvCase(p), 2e-5);
}

/// More tiles than one block has, and too many weights to read them for each block.
TYPED_TEST(Winograd, SeveralBlocksShareWeights) {
  check_everywhere<TypeParam>(ConvCase(conv2d(112, 112, 23, 3, 1, 1)), 2e-5);
}

TYPED_TEST(Winograd, EpiloguesAndWiderTensors) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(18, 75, 9, 3, 1, 1);
    p.output_pixel_stride = 80, p.input_pixel_stride = 22;
    check_everywhere<TypeParam>(ConvCase(p, which), 2e-5);
    p.output_type = ElementType::bf16;
    check_everywhere<TypeParam>(ConvCase(p, which));
  }
}

TYPED_TEST(Winograd, Dilations) {
  for (const ConvProblem& p : {conv2d(16, 32, 8, 3, 1, 2, 1, 2), conv2d(5, 7, 13, 3, 1, 3, 1, 4),
                               conv2d(33, 40, 10, 3, 1, 1, 1, 3), conv2d(3, 17, 8, 3, 1, 0, 1, 2)})
    for (int which = 0; which < kEpilogues; ++which)
      check_everywhere<TypeParam>(ConvCase(p, which), 2e-5);
  ConvProblem uneven = conv2d(6, 10, 11, 3, 1, 2, 1, 2);
  uneven.dilation[2] = 1, uneven.output[2] = uneven.input[2] + 2;
  check_everywhere<TypeParam>(ConvCase(uneven, 2), 2e-5);
}

TYPED_TEST(Winograd, GroupsOfManyChannels) {
  for (const ConvProblem& p : {conv2d(16, 32, 8, 3, 1, 1, 2), conv2d(27, 24, 7, 3, 1, 1, 3),
                               conv2d(40, 130, 9, 3, 1, 0, 2), conv2d(144, 160, 5, 3, 1, 1, 4),
                               conv2d(24, 24, 11, 3, 1, 2, 3, 2)})
    for (int which = 0; which < kEpilogues; ++which)
      check_everywhere<TypeParam>(ConvCase(p, which), 2e-5);
}

TYPED_TEST(Winograd, Volumes) {
  for (const ConvProblem& p :
       {conv3d(conv2d(16, 32, 8, 3, 1, 1), 4, 3, 1, 1),
        conv3d(conv2d(5, 7, 5, 3, 1, 1), 5, 3, 2, 1),
        conv3d(conv2d(18, 20, 4, 3, 1, 0), 6, 2, 1, 0, 2),
        conv3d(conv2d(3, 17, 6, 3, 1, 1), 1, 3, 1, 1),
        conv3d(conv2d(8, 9, 7, 3, 1, 2, 1, 2), 3, 5, 1, 4), conv3d(conv2d(16, 8, 5, 3, 1, 1), 3, 1),
        conv3d(conv2d(16, 16, 5, 3, 1, 1, 2), 4, 1)})
    for (int which = 0; which < kEpilogues; ++which)
      check_everywhere<TypeParam>(ConvCase(p, which), 2e-5);
}

TYPED_TEST(Winograd, WeightsThatComeWithEachRun) {
  for (ConvProblem p :
       {conv2d(16, 32, 8, 3, 1, 1), conv2d(5, 7, 7, 3, 1, 1), conv2d(33, 70, 13, 3, 1, 0),
        conv2d(27, 24, 7, 3, 1, 1, 3), conv3d(conv2d(5, 7, 5, 3, 1, 1), 5, 3, 2, 1)}) {
    p.weights_change = true;
    check_everywhere<TypeParam>(ConvCase(p, 2), 2e-5);
    p.channels_last_weights = true;
    check_everywhere<TypeParam>(ConvCase(p, 3), 2e-5);
    p.input_type = p.weight_type = p.output_type = ElementType::bf16;
    check_everywhere<TypeParam>(ConvCase(p, 2));
  }
}

/// The promise of the header in numbers: the error relative to the whole output.
TYPED_TEST(Winograd, RelativeErrorIsSmall) {
  ConvCase test(conv2d(64, 48, 14, 3, 1, 1));
  const Buffer got = test.template run<TypeParam>(detected_isa(), 1);
  double error = 0, size = 0;
  for (size_t i = 0; i < test.expected.size(); ++i) {
    const double difference = got.at(static_cast<int64_t>(i)) - test.expected[i];
    error += difference * difference;
    size += test.expected[i] * test.expected[i];
  }
  EXPECT_LT(std::sqrt(error / size), 2e-6);
}

TYPED_TEST(Winograd, RefusesOthers) {
  EXPECT_FALSE(TypeParam::prepare(conv2d(4, 8, 4, 3, 2, 1), nullptr).ok());
  EXPECT_FALSE(TypeParam::prepare(conv2d(4, 8, 4, 5, 1, 2), nullptr).ok());
  EXPECT_FALSE(TypeParam::prepare(conv2d(4, 8, 4, 3, 1, 1, 2), nullptr).ok());
  EXPECT_FALSE(TypeParam::prepare(conv2d(4, 8, 5, 3, 1, 3, 1, 4), nullptr).ok());
  EXPECT_FALSE(TypeParam::prepare(conv2d(32, 32, 8, 3, 1, 1, 32), nullptr).ok());
  const ConvProblem groups = conv2d(32, 32, 8, 3, 1, 1, 2);
  EXPECT_FALSE(TypeParam::prepare(conv3d(groups, 4, 3, 1, 1), nullptr).ok());
}

}  // namespace
}  // namespace tenon::cpu
