#include "kernels/quantized/byte_winograd.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "device/cpu/aligned_buffer.h"
#include "kernels/quantized/byte_convolution.h"

namespace tenon::cpu {
namespace {

/// Numbers of the weights or of the image.
enum class Fill : uint8_t { random, lowest, highest, extremes };

struct Case {
  int64_t batch, channels, filters, high, wide, pad;
  bool is_signed = false;
  int32_t zero = 0;
  Fill image = Fill::random, weights = Fill::random;
  int threads = 2;
  bool computed = false;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << c.batch << "x" << c.channels << "x" << c.high << "x" << c.wide << " to " << c.filters
            << ", pad " << c.pad << ", zero " << c.zero << (c.is_signed ? ", i8" : ", u8")
            << ", image " << int(c.image) << ", weights " << int(c.weights) << ", " << c.threads
            << " threads" << (c.computed ? ", computed scaling" : "");
}

int draw(Fill fill, int low, int high, std::mt19937& random) {
  const int any = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  switch (fill) {
    case Fill::random: return any;
    case Fill::lowest: return low;
    case Fill::highest: return high;
    case Fill::extremes: return any % 2 == 0 ? low : high;
  }
  return 0;
}

ByteProblem problem_of(const Case& c) {
  ByteProblem p;
  p.batch = c.batch, p.input_channels = c.channels, p.output_channels = c.filters;
  p.input = {1, c.high, c.wide}, p.kernel = {1, 3, 3}, p.pad = {0, c.pad, c.pad};
  p.output = {1, c.high + 2 * c.pad - 2, c.wide + 2 * c.pad - 2};
  p.input_pixel_stride = c.channels, p.output_pixel_stride = c.filters;
  p.is_signed = c.is_signed, p.zero = c.zero;
  p.computed_scaling = c.computed;
  // Sums beside the scale of 1 are results themselves, as long as they are below 2^24.
  p.scales.assign(c.filters, 1.0f), p.biases.assign(c.filters, 0.0f);
  p.threads = c.threads;
  return p;
}

class ByteWinogradTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (capped_isa(GetParam()) != GetParam()) GTEST_SKIP() << "not on this machine";
  }

  /// With weights as they are, or as an earlier kernel packed them.
  template <class Convolution>
  std::vector<float> run(ByteProblem p, const Case& c, const ByteWeights& weights,
                         const std::vector<uint8_t>& image, bool packed) {
    p.isa = GetParam();
    auto first = Convolution::prepare(p, &weights);
    EXPECT_TRUE(first.ok());
    if (!first.ok()) return {};
    p.packed = first->packed();
    auto made = packed ? Convolution::prepare(p, nullptr) : std::move(first);
    EXPECT_TRUE(made.ok());
    if (!made.ok()) return {};
    AlignedBuffer scratch(made->scratch_bytes());
    std::memset(scratch.data(), 0x5a, made->scratch_bytes());
    std::vector<float> output(p.pixels() * p.output_channels, -7.0f);
    ThreadPool pool(c.threads);
    ByteArguments arguments{image.data(), output.data(), nullptr};
    arguments.zero = c.zero, arguments.scale = 0.5f;
    made->run(arguments, pool, scratch.data());
    return output;
  }

  /// Whether the sums are those of direct products.
  void check(const Case& c) {
    SCOPED_TRACE(testing::PrintToString(c));
    std::mt19937 random(7);
    const int low = c.is_signed ? -128 : 0;
    std::vector<uint8_t> image(c.batch * c.high * c.wide * c.channels);
    for (uint8_t& x : image) x = static_cast<uint8_t>(draw(c.image, low, low + 255, random));
    std::vector<int16_t> weights(c.filters * 9 * c.channels);
    for (int16_t& w : weights)
      w = static_cast<int16_t>(
          draw(c.weights, c.weights == Fill::lowest ? -128 : -127, 127, random));
    const auto get = [&](int64_t n, int64_t position, int64_t channel) {
      return weights[(n * 9 + position) * c.channels + channel];
    };
    const ByteWeights source(get);
    const ByteProblem p = problem_of(c);
    const auto expected = run<ByteConvolution>(p, c, source, image, false);
    const auto actual = run<ByteWinograd>(p, c, source, image, c.channels > 64);
    ASSERT_EQ(actual.size(), expected.size());
    int64_t wrong = 0;
    for (size_t i = 0; i < actual.size(); ++i) wrong += actual[i] != expected[i];
    EXPECT_EQ(wrong, 0) << "of " << actual.size();
  }
};

TEST_P(ByteWinogradTest, SumsAreThoseOfDirectProductsForAnyExtents) {
  for (int64_t high = 1; high <= 9; ++high)
    for (int64_t wide = 1; wide <= 9; ++wide) check({1, 5, 3, high, wide, 1});
  for (int64_t channels : {1, 2, 31, 32, 33, 63, 64, 65, 128, 150}) {
    check({1, channels, 33, 6, 7, 1});
    check({2, channels, 70, 5, 14, 0, true, 3});
  }
  check({1, 3, 4, 2, 3, 2});
  check({3, 40, 32, 57, 30, 1, false, 120, Fill::random, Fill::random, 3});
  check({5, 40, 64, 14, 14, 1, false, 0, Fill::random, Fill::random, 1});
  check({1, 16, 16, 7, 90, 1, true, -4, Fill::random, Fill::random, 4});
  check({2, 40, 64, 14, 14, 1, false, 7, Fill::random, Fill::random, 2, true});
  check({2, 70, 64, 10, 14, 1, true, -7, Fill::random, Fill::random, 2, true});
}

TEST_P(ByteWinogradTest, SumsAreExactForTheLargestNumbers) {
  const Fill all[] = {Fill::lowest, Fill::highest, Fill::extremes};
  for (const Fill image : all)
    for (const Fill weights : all)
      for (const int64_t channels : {64, 100, 128, 600}) {
        check({1, channels, 32, 11, 12, 1, false, 0, image, weights});
        check({1, channels, 32, 6, 9, 1, false, 255, image, weights});
        check({1, channels, 8, 9, 6, 0, true, -128, image, weights});
        check({1, channels, 8, 9, 6, 0, true, 127, image, weights, 1, true});
      }
}

INSTANTIATE_TEST_SUITE_P(All, ByteWinogradTest, testing::Values(Isa::avx2, Isa::avx512),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace tenon::cpu
