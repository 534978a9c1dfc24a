#include "ir/dim.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/dim_expression.h"

namespace tenon {
namespace {

const Dim b = Dim::symbol("batch"), s = Dim::symbol("s"), t = Dim::symbol("t");

TEST(Dim, NormalForm) {
  EXPECT_EQ(floor_div(b * 12, 12), b);
  EXPECT_EQ(b + s, s + b);
  EXPECT_EQ((b + 1) * (b - 1), b * b - 1);
  EXPECT_EQ(b - b, Dim(0));
  EXPECT_NE(b, s);
  EXPECT_NE(b, Dim(1));
  EXPECT_EQ(floor_div(b * 4 + 6, 4), b + 1);
  EXPECT_EQ(floor_div(b * 4 + 6, 6), floor_div(b * 2 + 3, 3));
  EXPECT_EQ(floor_div(floor_div(b, 2), 3), floor_div(b, 6));
  EXPECT_EQ(floor_div(b * s * t, s), b * t);
  EXPECT_EQ(floor_div(b * (s + t) * 12, s + t), b * 12);
  EXPECT_EQ(mod(b * 12 + 5, 4), Dim(1));
  EXPECT_EQ(mod(b * s, b), Dim(0));
  EXPECT_EQ(ceil_div(b * 8, 4), b * 2);
  EXPECT_EQ(max(b, 0), b);
  EXPECT_EQ(min(b, b + 3), b);
  EXPECT_EQ(min(b, s), min(s, b));
  EXPECT_EQ(floor_div(b, Dim(-2)), floor_div(Dim(0) - b, 2));
}

TEST(Dim, Text) {
  EXPECT_EQ((b * 12 + 4).to_string(), "12*batch+4");
  EXPECT_EQ(floor_div(b + 1, 2).to_string(), "((batch+1)/2)");
  EXPECT_EQ(Dim::symbol("a b\"c").to_string(), "\"a b\\\"c\"");
  EXPECT_EQ(to_string(Shape{b, 3, s - 1}), "[batch,3,s-1]");
  EXPECT_EQ(*Dim::parse("2*(batch+3) - 6"), b * 2);
  EXPECT_EQ(*Dim::parse("\"a b\\\"c\""), Dim::symbol("a b\"c"));
  EXPECT_EQ(*Dim::parse("-9223372036854775808"), Dim(INT64_MIN));
  for (const char* bad : {"", "(", "a+", "1 2", "9223372036854775808", "min(a)", "\"x", "a b"})
    EXPECT_FALSE(Dim::parse(bad).ok()) << bad;
  EXPECT_FALSE(Dim::parse(std::string(100000, '(')).ok());
  EXPECT_FALSE(Dim::parse(std::string(100000, '-')).ok());
}

TEST(Dim, SmallestNumberIsReadBehindATerm) {
  for (const Dim& dim : {b + Dim(INT64_MIN), b * 2 + s * Dim(INT64_MIN)}) {
    const auto again = Dim::parse(dim.to_string());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, dim);
  }
}

TEST(Dim, DeepFunctionsAreReadAgainOrBecomeASymbol) {
  Dim deep = b;
  for (int level = 0; level < 2 * kMaxDimDepth; ++level) {
    deep = level % 2 == 0 ? floor_div(deep + 1, s) : min(deep - 2, s * 3);
    const auto again = Dim::parse(deep.to_string());
    ASSERT_TRUE(again.ok()) << level << ": " << again.error().message;
    ASSERT_EQ(*again, deep) << level;
    if (deep.as_symbol()) return;  // Beyond the bound.
  }
  ADD_FAILURE() << "depth has no bound";
}

TEST(Dim, RangeSaturates) {
  const SymbolRanges ranges{{"batch", {1, 8}}, {"s", {2, 5}}};
  EXPECT_EQ((b * 3 - s).range(ranges), (Range{-2, 22}));
  EXPECT_EQ(floor_div(b, 3).range(ranges), (Range{0, 2}));
  EXPECT_EQ(mod(b, 3).range(ranges), (Range{0, 2}));
  EXPECT_EQ((t * 2 - 1).range(ranges), (Range{-1, INT64_MAX}));
  EXPECT_EQ((t * t * INT64_MAX).range({}), (Range{0, INT64_MAX}));
  EXPECT_EQ(Dim(INT64_MAX) + 1, Dim(INT64_MAX));
  EXPECT_EQ(floor_div(Dim(INT64_MIN), Dim(-1)), Dim(INT64_MAX));
}

/// The quotient of the smallest number by -1 is none; processors stop programs that ask for it.
TEST(Dim, SmallestCoefficientIsDivided) {
  EXPECT_EQ(floor_div(b * s * INT64_MIN, s * -1), b * INT64_MAX);
  EXPECT_EQ(mod(b * s * INT64_MIN, s * -1), Dim(0));
}

TEST(Dim, DivisionByZeroHasNoValue) {
  EXPECT_FALSE(floor_div(Dim(5), 0).evaluate({}));
  EXPECT_FALSE(mod(b, 0).evaluate({{"batch", 3}}));
  EXPECT_FALSE(floor_div(b, s).evaluate({{"batch", 3}, {"s", 0}}));
}

TEST(Dim, RepeatedSquaringStaysSmall) {
  Dim d = b + s + 1;
  for (int i = 0; i < 100; ++i) d = d * (d + t);
  EXPECT_LE(d.size(), 3 * kMaxDimSize);
  d = b;
  for (int i = 0; i < 100; ++i) d = min(d * 2, floor_div(d, 3) + t);
  EXPECT_LE(d.size(), 3 * kMaxDimSize);
}

int64_t random_value(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// A random expression and its value computed beside it.
struct Sample {
  Dim dim;
  std::optional<int64_t> value;
};

Sample random_sample(std::mt19937& random, const SymbolValues& values, int depth) {
  if (depth == 0) {
    const int64_t pick = random_value(random, 0, 5);
    if (pick < 3) {
      const auto& [name, value] = *std::next(values.begin(), pick);
      return {Dim::symbol(name), value};
    }
    const int64_t constant = random_value(random, -4, 12);
    return {constant, constant};
  }
  const Sample x = random_sample(random, values, depth - 1);
  const Sample y = random_sample(random, values, depth - 1);
  const auto both = [&](auto f) -> std::optional<int64_t> {
    if (!x.value || !y.value) return std::nullopt;
    return f(*x.value, *y.value);
  };
  const auto divided = [&](auto f) -> std::optional<int64_t> {
    if (!y.value || *y.value == 0) return std::nullopt;
    return both(f);
  };
  const auto floor = [](int64_t p, int64_t q) {
    return p / q - (p % q != 0 && (p < 0) != (q < 0));
  };
  switch (random_value(random, 0, 6)) {
    case 0: return {x.dim + y.dim, both(std::plus<>())};
    case 1: return {x.dim - y.dim, both(std::minus<>())};
    case 2: return {x.dim * y.dim, both(std::multiplies<>())};
    case 3: return {floor_div(x.dim, y.dim), divided(floor)};
    case 4:
      return {mod(x.dim, y.dim),
              divided([&](int64_t p, int64_t q) { return p - q * floor(p, q); })};
    case 5: return {min(x.dim, y.dim), both([](int64_t p, int64_t q) { return std::min(p, q); })};
    default: return {max(x.dim, y.dim), both([](int64_t p, int64_t q) { return std::max(p, q); })};
  }
}

TEST(Dim, RandomExpressionsEvaluateAndPrint) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    SymbolValues values;
    SymbolRanges ranges;
    for (const char* name : {"batch", "s", "t"}) {
      values[name] = random_value(random, 0, 9);
      ranges[name] = {0, 9};
    }
    const Sample sample = random_sample(random, values, static_cast<int>(i % 4));
    const auto again = Dim::parse(sample.dim.to_string());
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_EQ(*again, sample.dim) << sample.dim.to_string() << " read as " << again->to_string();
    if (!sample.value) continue;
    const auto value = sample.dim.evaluate(values);
    ASSERT_TRUE(value.has_value()) << sample.dim.to_string();
    ASSERT_EQ(*value, *sample.value) << sample.dim.to_string();
    const Range range = sample.dim.range(ranges);
    ASSERT_LE(range.min, *value) << sample.dim.to_string();
    ASSERT_GE(range.max, *value) << sample.dim.to_string();
  }
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(*broadcast(Shape{b, 1, 3}, Shape{4, 1}), (Shape{b, 4, 3}));
  EXPECT_EQ(*broadcast(Shape{b}, Shape{5}), (Shape{5}));
  EXPECT_EQ(*broadcast(Shape{b}, Shape{s}), (Shape{b}));
  EXPECT_EQ(*broadcast(Shape{}, Shape{2, s}), (Shape{2, s}));
  EXPECT_FALSE(broadcast(Shape{2}, Shape{3}).ok());
  EXPECT_EQ(product(Shape{b, 3, 4}), b * 12);
}

}  // namespace
}  // namespace tenon
