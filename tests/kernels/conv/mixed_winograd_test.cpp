#include "kernels/conv/mixed_winograd.h"

#include "device/cpu/aligned_buffer.h"
#include "kernels/conv/reference.h"

namespace tenon::cpu {
namespace {

class Mixed : public testing::Test {
 protected:
  void SetUp() override {
    if (detected_isa() < Isa::avx512) GTEST_SKIP() << "this machine has no AVX-512";
  }

  static void check(ConvCase test, double epsilon = 2e-5) {
    SCOPED_TRACE(test.description());
    if (test.problem.output_type == ElementType::bf16) epsilon = 1.0 / 128;
    const Buffer one = test.run<MixedWinograd>(Isa::avx512, 1);
    test.check(one, epsilon);
    for (int threads = 2; threads <= 4; ++threads)
      ASSERT_EQ(one.bytes, test.run<MixedWinograd>(Isa::avx512, threads).bytes)
          << threads << " threads differ";
  }
};

/// Stride 1 and 2 over an image whose output has these extents.
std::vector<ConvProblem> with_extents(int64_t channels, int64_t filters, int64_t height,
                                      int64_t width) {
  std::vector<ConvProblem> all;
  for (int64_t stride = 1; stride <= 2; ++stride) {
    ConvProblem p = conv2d(channels, filters, 8, 3, stride, 1);
    p.output = {1, height, width};
    // With an even extent the last row meets padding with stride 1 only.
    p.input = {1, height * stride - (stride - 1) * (height % 2), width * stride};
    all.push_back(p);
  }
  return all;
}

// Every mixture of tiles: rests of one to four rows and columns, one to several tiles an axis, one
// block and several.
TEST_F(Mixed, Extents) {
  for (int64_t height : {1, 2, 3, 4, 5, 7, 8, 14})
    for (int64_t width : {1, 2, 3, 4, 6, 7, 9, 22})
      for (const ConvProblem& p : with_extents(5, 7, height, width)) check(ConvCase(p));
}

TEST_F(Mixed, ChannelsPadding) {
  for (const ConvProblem& p :
       {conv2d(16, 32, 8, 3, 1, 1), conv2d(33, 70, 13, 3, 1, 0), conv2d(3, 130, 4, 3, 1, 1),
        conv2d(64, 16, 3, 3, 1, 2), conv2d(65, 33, 7, 3, 1, 1), conv2d(200, 40, 6, 3, 1, 1),
        conv2d(1, 1, 1, 3, 1, 1), conv2d(20, 20, 30, 3, 1, 1), conv2d(65, 33, 14, 3, 2, 1),
        conv2d(200, 40, 13, 3, 2, 0), conv2d(16, 70, 57, 3, 2, 1), conv2d(3, 5, 2, 3, 2, 2)})
    check(ConvCase(p));
}

TEST_F(Mixed, EpiloguesAndWiderTensors) {
  for (int which = 1; which < kEpilogues; ++which) {
    ConvProblem p = conv2d(18, 75, 9, 3, 1 + which % 2, 1);
    p.output_pixel_stride = 80, p.input_pixel_stride = 22;
    check(ConvCase(p, which));
    p.output_type = ElementType::bf16;
    check(ConvCase(p, which));
    p.input_type = ElementType::bf16;
    check(ConvCase(p, which));
  }
}

TEST_F(Mixed, FetchingAheadChangesNothing) {
  ConvCase test(conv2d(70, 64, 14, 3, 1, 1));
  test.problem.isa = Isa::avx512;
  const Buffer expected = test.run<MixedWinograd>(Isa::avx512, 1);
  auto conv = MixedWinograd::prepare(test.problem, test.weights.bytes.data());
  ASSERT_TRUE(conv.ok());
  EXPECT_GT(conv->fetch_capacity(), 0u);
  std::vector<std::byte> ahead(100000);
  AlignedBuffer scratch(conv->scratch_bytes());
  ThreadPool pool(1);
  Buffer result = Buffer::poisoned(ElementType::f32, test.output_count());
  conv->run({.input = test.input.bytes.data(),
             .output = result.bytes.data(),
             .operands = test.operands.data(),
             .ahead = ahead},
            pool, scratch.data());
  EXPECT_EQ(expected.bytes, result.bytes);
}

/// The error relative to the whole output, in every mixture of tiles.
TEST_F(Mixed, RelativeErrorIsSmall) {
  for (int64_t size : {12, 13, 14, 15, 24, 26, 28, 30}) {
    ConvCase test(conv2d(64, 48, size, 3, size < 20 ? 1 : 2, 1));
    const Buffer got = test.run<MixedWinograd>(Isa::avx512, 1);
    double error = 0, whole = 0;
    for (size_t i = 0; i < test.expected.size(); ++i) {
      const double difference = got.at(static_cast<int64_t>(i)) - test.expected[i];
      error += difference * difference;
      whole += test.expected[i] * test.expected[i];
    }
    EXPECT_LT(std::sqrt(error / whole), 2e-6) << size;
  }
}

TEST_F(Mixed, RefusesOthers) {
  EXPECT_FALSE(MixedWinograd::prepare(conv2d(4, 8, 4, 3, 3, 1), nullptr).ok());
  EXPECT_FALSE(MixedWinograd::prepare(conv2d(4, 8, 4, 5, 1, 2), nullptr).ok());
  ConvProblem p = conv2d(4, 8, 4, 3, 1, 1);
  p.isa = Isa::avx2;
  EXPECT_FALSE(MixedWinograd::prepare(p, nullptr).ok());
}

}  // namespace
}  // namespace tenon::cpu
