// Masks that are computed from ranges, triangles and comparisons: the triangle that is found for
// one has the elements that the mask is evaluated to.
#include "passes/causal_mask.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case_file.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 4, kColumns = 6;

/// The mask is the value %20 of a graph with rows %8: i64[4,1], columns %9: i64[6], %11: f32[4,6]
/// of ones, numbers, and the lines given.
Result<std::unique_ptr<Graph>> mask_of(std::string_view lines) {
  const std::string text = fmt::format(R"(() {{
  %0 = constant() {{value = i64[]{{0}}}}
  %1 = constant() {{value = i64[]{{1}}}}
  %2 = constant() {{value = i64[]{{2}}}}
  %3 = constant() {{value = i64[]{{4}}}}
  %4 = constant() {{value = i64[]{{6}}}}
  %5 = constant() {{value = i64[2]{{4,1}}}}
  %6 = constant() {{value = i64[2]{{4,6}}}}
  %7 = range "rows"(%0, %3, %1)
  %8 = reshape "i"(%7, %5)
  %9 = range "j"(%0, %4, %1)
  %10 = constant() {{value = f32[]{{1}}}}
  %11 = expand "ones"(%10, %6)
  %12 = constant() {{value = f32[]{{-10000}}}}
  %13 = constant() {{value = f32[]{{0}}}}
{}
  return %20
}})",
                                       lines);
  PassCase item;
  item.given = text;
  return graph_of_case(item);
}

/// Whether a triangle is found; one that is has to be right.
bool is_found(std::string_view lines) {
  SCOPED_TRACE(lines);
  auto graph = mask_of(lines);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  if (!graph.ok()) return false;
  const auto found = triangle_of((*graph)->outputs()[0]);
  if (!found.has_value()) return false;
  const auto values = evaluate_graph(**graph, {});
  EXPECT_TRUE(values.ok()) << values.error().message;
  if (!values.ok()) return false;
  const Tensor& mask = (*values)[0];
  EXPECT_TRUE(found->offset.is_constant());
  const int64_t columns = mask.extents().back(), rows = mask.count() / columns;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      EXPECT_EQ(mask.as_double(i * columns + j),
                j <= i + found->offset.constant() ? found->below : found->above)
          << i << ", " << j;
  return true;
}

constexpr std::string_view kComparisons[] = {"less", "less_equal", "greater", "greater_equal"};

TEST(CausalMask, ComparisonsOfPositions) {
  for (const std::string_view compare : kComparisons) {
    EXPECT_TRUE(is_found(fmt::format("  %20 = {} \"m\"(%9, %8)", compare)));
    EXPECT_TRUE(is_found(fmt::format("  %20 = {} \"m\"(%8, %9)", compare)));
    EXPECT_TRUE(
        is_found(fmt::format("  %14 = add \"a\"(%8, %2)\n  %20 = {} \"m\"(%9, %14)", compare)));
    EXPECT_TRUE(
        is_found(fmt::format("  %14 = add \"a\"(%2, %9)\n  %20 = {} \"m\"(%8, %14)", compare)));
    EXPECT_TRUE(
        is_found(fmt::format("  %14 = sub \"a\"(%9, %1)\n  %20 = {} \"m\"(%8, %14)", compare)));
  }
}

TEST(CausalMask, ComparisonsOfDistances) {
  for (const std::string_view compare : kComparisons) {
    EXPECT_TRUE(
        is_found(fmt::format("  %14 = sub \"d\"(%8, %9)\n  %20 = {} \"m\"(%14, %1)", compare)));
    EXPECT_TRUE(
        is_found(fmt::format("  %14 = sub \"d\"(%8, %9)\n  %20 = {} \"m\"(%2, %14)", compare)));
    (void)is_found(fmt::format("  %14 = sub \"d\"(%9, %8)\n  %20 = {} \"m\"(%14, %1)", compare));
    (void)is_found(fmt::format("  %14 = sub \"d\"(%0, %8)\n  %20 = {} \"m\"(%14, %9)", compare));
  }
}

TEST(CausalMask, Trilu) {
  for (const bool upper : {false, true})
    for (int k = -2; k <= 3; ++k)
      EXPECT_TRUE(
          is_found(fmt::format("  %14 = constant() {{value = i64[]{{{}}}}}\n"
                               "  %20 = trilu \"m\"(%11, %14) {{upper = {}}}",
                               k, upper)));
  EXPECT_TRUE(is_found("  %20 = trilu \"m\"(%11) {upper = false}"));
  EXPECT_FALSE(is_found("  %14 = trilu \"t\"(%11) {upper = false}\n  %20 = trilu \"m\"(%14)"));
}

TEST(CausalMask, CombinationsOfTrianglesAndNumbers) {
  const std::string two = "  %14 = less_equal \"a\"(%9, %8)\n  %15 = greater \"b\"(%9, %8)\n";
  for (const char* function : {"and", "or", "equal"})
    (void)is_found(two + fmt::format("  %20 = {} \"m\"(%14, %15)", function));
  EXPECT_TRUE(is_found(two + "  %20 = not \"m\"(%14)"));
  EXPECT_TRUE(is_found(two + "  %20 = and \"m\"(%14, %14)"));
  EXPECT_TRUE(is_found(two + "  %20 = or \"m\"(%15, %15)"));
  EXPECT_TRUE(is_found(two + "  %20 = where \"m\"(%14, %13, %12)"));
  EXPECT_TRUE(is_found(two + "  %20 = where \"m\"(%15, %12, %10)"));
  const std::string number = two + "  %16 = cast \"c\"(%14) {to = f32}\n";
  for (const char* function : {"add", "sub", "mul", "max", "min"}) {
    EXPECT_TRUE(is_found(number + fmt::format("  %20 = {} \"m\"(%16, %11)", function)) ||
                std::string_view(function) == "max");
    EXPECT_TRUE(is_found(number + fmt::format("  %20 = {} \"m\"(%12, %16)", function)) ||
                std::string_view(function) == "min");
  }
  for (const char* function : {"equal", "greater", "less", "greater_equal", "less_equal"}) {
    (void)is_found(number + fmt::format("  %20 = {} \"m\"(%16, %11)", function));
    (void)is_found(number + fmt::format("  %20 = {} \"m\"(%13, %16)", function));
    // A comparison of numbers beside it.
    (void)is_found(number +
                   fmt::format("  %17 = {} \"n\"(%11, %10)\n  %18 = cast \"d\"(%17) {{to = f32}}\n"
                               "  %20 = mul \"m\"(%16, %18)",
                               function));
    (void)is_found(number +
                   fmt::format("  %17 = {} \"n\"(%11, %13)\n  %18 = cast \"d\"(%17) {{to = f32}}\n"
                               "  %20 = mul \"m\"(%16, %18)",
                               function));
  }
  EXPECT_TRUE(is_found(number + "  %20 = neg \"m\"(%16)"));
  EXPECT_TRUE(
      is_found(number + "  %17 = mul \"s\"(%16, %12)\n  %20 = cast \"m\"(%17) {to = bool}"));
  EXPECT_TRUE(is_found(two + "  %16 = cast \"c\"(%15) {to = f32}\n"
                             "  %20 = cast \"m\"(%16) {to = bool}"));
}

TEST(CausalMask, MovedParts) {
  const std::string triangle = "  %14 = less_equal \"a\"(%9, %8)\n";
  for (const int axis : {0, 1})
    for (const int start : {1, 2, -2})
      EXPECT_TRUE(is_found(triangle + fmt::format("  %15 = constant() {{value = i64[1]{{{}}}}}\n"
                                                  "  %16 = constant() {{value = i64[1]{{100}}}}\n"
                                                  "  %17 = constant() {{value = i64[1]{{{}}}}}\n"
                                                  "  %20 = slice \"m\"(%14, %15, %16, %17)",
                                                  start, axis)) ||
                  start == -2);
  // Positions that go to the other axis, and triangles that leave theirs.
  const std::string shape = "  %15 = constant() {value = i64[2]{24,1}}\n";
  EXPECT_FALSE(is_found(triangle + shape + "  %20 = reshape \"m\"(%14, %15)"));
  const std::string turned =
      "  %15 = constant() {value = i64[2]{1,4}}\n  %16 = reshape \"c\"(%8, %15)\n"
      "  %17 = constant() {value = i64[2]{6,1}}\n  %18 = reshape \"r\"(%9, %17)\n";
  for (const std::string_view compare : kComparisons)
    EXPECT_TRUE(is_found(turned + fmt::format("  %20 = {} \"m\"(%16, %18)", compare)));
  // Positions that are repeated along the other axis before they are compared.
  const std::string repeated = "  %15 = expand \"c\"(%9, %6)\n  %16 = expand \"r\"(%8, %6)\n";
  for (const std::string_view compare : kComparisons)
    EXPECT_TRUE(is_found(repeated + fmt::format("  %20 = {} \"m\"(%15, %16)", compare)));
}

}  // namespace
}  // namespace tenon
