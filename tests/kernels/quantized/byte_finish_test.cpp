#include "kernels/quantized/byte_finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/quantized/byte_problem.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kStride = 40;

/// All scales are powers of two, so that results are exact and ties are ties.
struct Case {
  ByteType type;
  float zero, low, high;  ///< The latter two hold ahead of the zero point.
  bool rounds, adds, rounds_again;
  ByteType added;
  int64_t rows, columns;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << "type " << int(c.type) << " zero " << c.zero << " in [" << c.low << ", " << c.high
            << "] steps " << c.rounds << c.adds << c.rounds_again << " of " << int(c.added) << ", "
            << c.rows << "x" << c.columns;
}

class Finish {
 public:
  explicit Finish(const Case& c) : c_(c) {
    std::mt19937 random(7);
    for (int64_t i = 0; i < c.rows * kBytePanel; ++i)
      sums_.push_back(i % 11 == 0 && c.type != ByteType::f32  // Floats of such are not exact.
                          ? static_cast<int32_t>(random())
                          : static_cast<int32_t>(random() % 4096) - 2048);
    for (int64_t i = 0; i < kBytePanel; ++i) {
      scales_[i] = i % 3 == 0 ? 0.5f : 0.25f;
      biases_[i] = static_cast<float>(i % 7) * 0.5f - 1.5f;
    }
    for (int64_t i = 0; i < c.rows * kStride; ++i) added_.push_back(static_cast<uint8_t>(random()));
    add_steps();
  }

  /// Sums of 31 bits by these scales are bounded.
  std::vector<uint8_t> run(ByteFinishFunction function, bool is_bounded) const {
    std::vector<uint8_t> to(c_.rows * kStride * byte_type_size(c_.type), 77);
    ByteFinish finish{.sums = sums_.data(), .rows = c_.rows, .columns = c_.columns};
    finish.scales = scales_, finish.biases = biases_;
    finish.steps = steps_, finish.operands = operands_;
    finish.output = to.data(), finish.output_stride = kStride;
    finish.type = c_.type, finish.inverse = 0.5f;
    finish.low = c_.low, finish.high = c_.high, finish.zero = c_.zero;
    finish.is_bounded = is_bounded;
    function(finish);
    return to;
  }

  std::vector<uint8_t> expected() const {
    std::vector<uint8_t> to(c_.rows * kStride * byte_type_size(c_.type), 77);
    for (int64_t r = 0; r < c_.rows; ++r)
      for (int64_t i = 0; i < c_.columns; ++i) {
        const double x = value(r, i);
        if (c_.type == ByteType::f32) {
          reinterpret_cast<float*>(to.data())[r * kStride + i] = static_cast<float>(x);
          continue;
        }
        const double whole = std::nearbyint(std::clamp<double>(x * 0.5, c_.low, c_.high));
        to[r * kStride + i] = static_cast<uint8_t>(static_cast<int>(whole + c_.zero));
      }
    return to;
  }

 private:
  void add_steps() {
    const auto add = [&](ByteStep step, ByteStepOperand operand) {
      operands_[steps_.size()] = operand;
      steps_.push_back(step);
    };
    ByteStep round{.kind = ByteStep::Kind::round, .low = -100, .high = 155};
    round.scale = 4.0f, round.inverse = 0.25f;
    if (c_.rounds) add(round, {});
    ByteStep sum{.kind = ByteStep::Kind::add, .operand = ByteOperand::full, .type = c_.added};
    sum.operand_scale = 0.5f, sum.operand_zero = 13;
    if (c_.adds) add(sum, {added_.data(), kStride});
    round.scale = 2.0f, round.inverse = 0.5f;
    if (c_.rounds_again) add(round, {});
  }

  double value(int64_t r, int64_t i) const {
    const auto rounded = [](double x, double scale) {
      return std::nearbyint(std::clamp(x / scale, -100.0, 155.0)) * scale;
    };
    // The sum becomes a float first.
    double x = double{static_cast<float>(sums_[r * kBytePanel + i])} * scales_[i] + biases_[i];
    if (c_.rounds) x = rounded(x, 4);
    const uint8_t byte = added_[r * kStride + i];
    if (c_.adds)
      x += ((c_.added == ByteType::i8 ? static_cast<int8_t>(byte) : int{byte}) - 13) * 0.5;
    return c_.rounds_again ? rounded(x, 2) : x;
  }

  Case c_;
  std::vector<int32_t> sums_;
  float scales_[kBytePanel], biases_[kBytePanel];
  std::vector<uint8_t> added_;
  std::vector<ByteStep> steps_;
  ByteStepOperand operands_[3];
};

class ByteFinishTest : public testing::TestWithParam<Case> {};

TEST_P(ByteFinishTest, IsExactWithScalesOfTwo) {
  const Finish finish(GetParam());
  const std::vector<uint8_t> expected = finish.expected();
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    for (bool is_bounded : {false, true})
      EXPECT_EQ(finish.run(byte_finish_function(capped_isa(isa)), is_bounded), expected)
          << "set " << int(isa) << ", bounded " << is_bounded;
}

INSTANTIATE_TEST_SUITE_P(
    All, ByteFinishTest,
    testing::Values(Case{ByteType::u8, 0, 0, 255, false, false, false, ByteType::u8, 14, 32},
                    Case{ByteType::u8, 3, -3, 252, false, false, false, ByteType::u8, 13, 32},
                    Case{ByteType::u8, 255, -255, 0, true, true, false, ByteType::u8, 37, 32},
                    Case{ByteType::i8, -128, 0, 255, true, true, true, ByteType::i8, 64, 32},
                    Case{ByteType::i8, 5, -133, 122, false, true, true, ByteType::u8, 1, 32},
                    Case{ByteType::i8, 7, -7, 60, false, true, false, ByteType::i8, 20, 32},
                    Case{ByteType::u8, 9, -9, 246, true, true, true, ByteType::u8, 33, 17},
                    Case{ByteType::i8, 0, -128, 127, false, false, true, ByteType::i8, 18, 3},
                    Case{ByteType::u8, 100, -40.5f, 11.5f, true, false, false, ByteType::u8, 9, 31},
                    Case{ByteType::f32, 0, 0, 0, true, true, false, ByteType::u8, 33, 32},
                    Case{ByteType::f32, 0, 0, 0, false, true, false, ByteType::i8, 33, 18},
                    Case{ByteType::f32, 0, 0, 0, true, false, false, ByteType::i8, 5, 1}));

ByteProblem with_steps(float scale, float bias, std::vector<ByteStep> steps) {
  ByteProblem problem{.type = ByteType::u8, .inverse = 2.0f};
  problem.scales = {0.125f, scale}, problem.biases = {bias, 1.0f};
  problem.steps = std::move(steps);
  return problem;
}

TEST(ByteProblem, KnowsWhetherNumbersAreBounded) {
  using Kind = ByteStep::Kind;
  EXPECT_TRUE(with_steps(0.125f, 1.0f, {}).finds_bounds());
  EXPECT_FALSE(with_steps(-0.25f, 1.0f, {}).finds_bounds());  // 2^31 / 4 * 2
  EXPECT_FALSE(with_steps(0.125f, 5e8f, {}).finds_bounds());
  EXPECT_FALSE(with_steps(0.125f, std::nanf(""), {}).finds_bounds());
  const ByteStep round{.kind = Kind::round, .low = -128, .high = 127, .scale = 1e6f};
  EXPECT_TRUE(with_steps(4.0f, 1.0f, {round}).finds_bounds());
  const ByteStep far{.kind = Kind::round, .low = -128, .high = 127, .scale = 1e7f};
  EXPECT_FALSE(with_steps(0.125f, 1.0f, {far}).finds_bounds());
  EXPECT_TRUE(with_steps(4.0f, 1.0f, {{.kind = Kind::clamp, .low = 0, .high = 6}}).finds_bounds());
  EXPECT_FALSE(with_steps(4.0f, 1.0f, {{.kind = Kind::clamp, .low = 0}}).finds_bounds());
  EXPECT_FALSE(with_steps(0.125f, 1.0f, {{.kind = Kind::clamp, .low = 1e9f}}).finds_bounds());
  const ByteStep near{.kind = Kind::add, .type = ByteType::u8, .operand_scale = 1e5f};
  EXPECT_TRUE(with_steps(0.125f, 1.0f, {near}).finds_bounds());
  const ByteStep large{.kind = Kind::add, .type = ByteType::i8, .operand_scale = 1e7f};
  EXPECT_FALSE(with_steps(0.125f, 1.0f, {large}).finds_bounds());
  EXPECT_FALSE(with_steps(0.125f, 1.0f, {{.kind = Kind::add}}).finds_bounds());  // Any f32.
  EXPECT_FALSE(with_steps(0.125f, 1.0f, {{.kind = Kind::function}}).finds_bounds());
  ByteProblem computed = with_steps(0.125f, 1.0f, {});
  computed.computed_scaling = true;
  EXPECT_FALSE(computed.finds_bounds());
}

}  // namespace
}  // namespace tenon::cpu
