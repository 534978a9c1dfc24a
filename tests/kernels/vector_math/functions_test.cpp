#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "../../tolerances.h"
#include "device/cpu/isa.h"
#include "evaluate.h"

namespace tenon::vector_math {
namespace {

using cpu::Isa;
constexpr double kRounded = test::relative_tolerance("kReference", "kFloat32");

double exact(Function f, double x) {
  switch (f) {
    case Function::exp:
    case Function::exp_of_share: return std::exp(x);
    case Function::log: return std::log(x);
    case Function::erf: return std::erf(x);
    case Function::tanh: return std::tanh(x);
    case Function::sigmoid: return 1.0 / (1.0 + std::exp(-x));
    case Function::gelu_erf: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Function::sin: return std::sin(x);
    case Function::cos: return std::cos(x);
    case Function::neg: return -x;
  }
  return 0;
}

void evaluate_with(Isa isa, Function f, const float* x, float* y, int n) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return evaluate_avx512(f, x, y, n);
  if (isa == Isa::avx2) return evaluate_avx2(f, x, y, n);
#endif
  (void)isa;
  evaluate_generic(f, x, y, n);
}

void combine_with(Isa isa, PointwiseFunction f, const float* x, const float* y, float* to, int n) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return combine_avx512(f, x, y, to, n);
  if (isa == Isa::avx2) return combine_avx2(f, x, y, to, n);
#endif
  (void)isa;
  combine_generic(f, x, y, to, n);
}

std::vector<Isa> levels() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (cpu::capped_isa(isa) == isa) found.push_back(isa);
  return found;
}

double units_in_last_place(float got, double want) {
  if (std::isnan(want) || std::isinf(static_cast<float>(want)))
    return std::isnan(want) == std::isnan(got) && (std::isnan(got) || std::isinf(got)) ? 0 : 1e9;
  const float size = std::fabs(static_cast<float>(want));
  const double unit = std::nextafter(size, INFINITY) - static_cast<double>(size);
  return std::fabs(got - want) / unit;
}

void check(Function f, float low, float high) {
  std::vector<float> x, y;
  for (int i = 0; i <= 200003; ++i)
    x.push_back(low + (high - low) * static_cast<float>(i) / 200003);
  for (float tiny = 1e-38f; tiny < 1; tiny *= 1.7f)
    for (float v : {tiny, -tiny})
      if (v >= low) x.push_back(v);
  for (Isa isa : levels()) {
    y.assign(x.size() + 1, -77.0f);
    evaluate_with(isa, f, x.data(), y.data(), static_cast<int>(x.size()));
    EXPECT_EQ(y.back(), -77.0f) << "writes past the end";
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = units_in_last_place(y[i], exact(f, x[i]));
      if (error > worst) worst = error, where = x[i];
    }
    EXPECT_LT(worst, 4.0) << cpu::isa_name(isa) << " at " << where;
    testing::Test::RecordProperty(std::string(cpu::isa_name(isa)), std::to_string(worst));
  }
}

TEST(VectorMath, Exp) {
  check(Function::exp, -104.0f, 90.0f);
}
TEST(VectorMath, SharesAreNeverSubnormal) {
  check(Function::exp_of_share, -87.0f, 0.0f);
  const float infinity = std::numeric_limits<float>::infinity();
  const float x[] = {-87.01f, -100.0f, -103.9f, -1e30f, -infinity, NAN, NAN, -88.0f, -90.0f};
  for (Isa isa : levels()) {
    float y[std::size(x)];
    evaluate_with(isa, Function::exp_of_share, x, y, static_cast<int>(std::size(x)));
    for (size_t i = 0; i < std::size(x); ++i)
      EXPECT_TRUE(std::isnan(x[i]) ? std::isnan(y[i]) : y[i] == 0) << cpu::isa_name(isa) << x[i];
  }
}
TEST(VectorMath, Log) {
  check(Function::log, 1e-38f, 1e6f), check(Function::log, 0.5f, 2.0f);
}
TEST(VectorMath, Erf) {
  check(Function::erf, -5.0f, 5.0f);
}
TEST(VectorMath, Tanh) {
  check(Function::tanh, -12.0f, 12.0f);
}
TEST(VectorMath, Sigmoid) {
  check(Function::sigmoid, -80.0f, 100.0f);
}

TEST(VectorMath, SineAndCosine) {
  for (const Function f : {Function::sin, Function::cos})
    check(f, -4.0f, 4.0f), check(f, -500.0f, 500.0f), check(f, -9000.0f, 9000.0f),
        check(f, 1e7f, 1e9f);
}

TEST(VectorMath, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float x[] = {infinity, -infinity, nan, 0.0f, -1.0f};
  const float want_exp[] = {infinity, 0.0f, nan, 1.0f, std::exp(-1.0f)};
  const float want_log[] = {infinity, nan, nan, -infinity, nan};
  const float want_erf[] = {1.0f, -1.0f, nan, 0.0f, std::erf(-1.0f)};
  const float want_gelu[] = {infinity, nan, nan, 0.0f, -0.15865525f};
  const float want_tanh[] = {1.0f, -1.0f, nan, 0.0f, std::tanh(-1.0f)};
  const std::pair<Function, const float*> cases[] = {{Function::exp, want_exp},
                                                     {Function::log, want_log},
                                                     {Function::erf, want_erf},
                                                     {Function::tanh, want_tanh},
                                                     {Function::gelu_erf, want_gelu}};
  for (Isa isa : levels()) {
    for (const auto& [f, want] : cases) {
      float y[5];
      evaluate_with(isa, f, x, y, 5);
      for (int i = 0; i < 5; ++i) {
        if (std::isnan(want[i]))
          EXPECT_TRUE(std::isnan(y[i])) << cpu::isa_name(isa) << int(f) << " of " << x[i];
        else if (std::isinf(want[i]))
          EXPECT_EQ(y[i], want[i]) << cpu::isa_name(isa) << int(f) << " of " << x[i];
        else
          EXPECT_NEAR(y[i], want[i], kRounded) << cpu::isa_name(isa) << int(f) << " of " << x[i];
      }
    }
  }
}

TEST(VectorMath, NegationOfZeroHasASign) {
  const float x[] = {0.0f, -0.0f, 2.0f};
  for (Isa isa : levels()) {
    float y[3];
    evaluate_with(isa, Function::neg, x, y, 3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(y[i], -x[i]) << cpu::isa_name(isa);
      EXPECT_NE(std::signbit(y[i]), std::signbit(x[i])) << cpu::isa_name(isa);
    }
  }
}

/// As the formulas of ops/pointwise.def have it: NaN stays NaN, on either side.
TEST(VectorMath, ExtremesOfNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float x[] = {nan, 1.0f, nan, 2.0f, -3.0f}, y[] = {1.0f, nan, nan, -1.0f, 4.0f};
  for (Isa isa : levels())
    for (const PointwiseFunction f : {PointwiseFunction::k_max, PointwiseFunction::k_min}) {
      float to[5];
      combine_with(isa, f, x, y, to, 5);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(to[i])) << cpu::isa_name(isa) << i;
      const bool is_max = f == PointwiseFunction::k_max;
      EXPECT_EQ(to[3], is_max ? 2.0f : -1.0f);
      EXPECT_EQ(to[4], is_max ? 4.0f : -3.0f);
    }
}

}  // namespace
}  // namespace tenon::vector_math
