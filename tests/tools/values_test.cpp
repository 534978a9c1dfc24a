#include "tools/values.h"

#include <gtest/gtest.h>

namespace tenon::tools {
namespace {

using Extents = std::vector<int64_t>;

TEST(ShapeList, ReadsSeveralInputs) {
  const auto shapes = parse_shape_list("input:1x3x224x224,mask:2x5");
  ASSERT_TRUE(shapes.ok());
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].name, "input");
  EXPECT_EQ((*shapes)[0].dims, (Extents{1, 3, 224, 224}));
  EXPECT_EQ((*shapes)[1].dims, (Extents{2, 5}));
}

TEST(ShapeList, SplitsAtTheLastColon) {
  const auto shapes = parse_shape_list("serving:0:4x8");
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ((*shapes)[0].name, "serving:0");
  EXPECT_EQ((*shapes)[0].dims, (Extents{4, 8}));
}

TEST(ShapeList, QuotedNamesMayHoldSeparators) {
  const auto shapes = parse_shape_list("'a,b:0':4,c:5");
  ASSERT_TRUE(shapes.ok());
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].name, "a,b:0");
}

TEST(ShapeList, ScalarsHaveNoDimensions) {
  const auto shapes = parse_shape_list("a:scalar,b:");
  ASSERT_TRUE(shapes.ok());
  EXPECT_TRUE((*shapes)[0].dims.empty());
  EXPECT_TRUE((*shapes)[1].dims.empty());
}

TEST(ShapeList, ExactNamesComeBeforeWildcards) {
  const auto shapes = parse_shape_list("in*:1,in2:2");
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(find_shape(*shapes, "in2")->dims, (Extents{2}));
  EXPECT_EQ(find_shape(*shapes, "in3")->dims, (Extents{1}));
  EXPECT_EQ(find_shape(*shapes, "out"), nullptr);
}

TEST(ShapeList, RefusesWhatIsNoShape) {
  for (const char* text : {"", "input", "input:1x-3", "input:1xx3", "input:axb", "input:1x3,",
                           ":1x3", "a:1,a:2", "a:99999999999999999999", "a:1x3.5"}) {
    EXPECT_FALSE(parse_shape_list(text).ok()) << text;
  }
}

TEST(ShapeList, ErrorsNameTheExtent) {
  const auto shapes = parse_shape_list("input:1xq");
  ASSERT_FALSE(shapes.ok());
  EXPECT_NE(shapes.error().message.find("'q'"), std::string::npos);
}

TEST(Sizes, HaveBinarySuffixes) {
  EXPECT_EQ(parse_size("1G", 'M'), int64_t{1} << 30);
  EXPECT_EQ(parse_size("1.5K", 'M'), 1536);
  EXPECT_EQ(parse_size("2", 'M'), int64_t{2} << 20);
  EXPECT_EQ(parse_size("7", 'B'), 7);
  EXPECT_EQ(parse_size("-1", 'M'), std::nullopt);
  EXPECT_EQ(parse_size("1T", 'M'), std::nullopt);
  EXPECT_EQ(parse_size("", 'M'), std::nullopt);
  EXPECT_EQ(parse_size("1e300G", 'M'), std::nullopt);
}

TEST(Wildcards, OneStarMatchesAnything) {
  EXPECT_TRUE(matches("conv*", "conv1"));
  EXPECT_TRUE(matches("*_out", "a_out"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("ab*ba", "aba"));
  EXPECT_FALSE(matches("conv", "conv1"));
}

TEST(EditDistance, CountsLettersAndSwaps) {
  EXPECT_EQ(edit_distance("fp16", "FP16"), 0);
  EXPECT_EQ(edit_distance("fp61", "fp16"), 1);
  EXPECT_EQ(edit_distance("onxn", "onnx"), 1);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("saveEngin", "saveEngine"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadItAsAnythingElse) {
  EXPECT_EQ(shell_word("models/net-1.onnx"), "models/net-1.onnx");
  EXPECT_EQ(shell_word("my net.onnx"), "'my net.onnx'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$x;y"), "'$x;y'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Values, AWordOfANameIsNearIt) {
  EXPECT_EQ(letters_apart("shapes", "calibration_shapes"), 1);
  EXPECT_EQ(letters_apart("calibration", "calibration_shapes"), 1);
  EXPECT_EQ(letters_apart("drop", "max-drop"), 1);
  EXPECT_EQ(letters_apart("shapes", "shapes"), 0);
  EXPECT_GT(letters_apart("", "max-drop"), 1);
  EXPECT_GT(letters_apart("shape", "calibration_shapes"), 1);
}

TEST(Percentiles, LieBetween0And100) {
  EXPECT_EQ(*parse_percentiles("50,99.9"), (std::vector<double>{50, 99.9}));
  EXPECT_FALSE(parse_percentiles("101").ok());
  EXPECT_FALSE(parse_percentiles("-1").ok());
  EXPECT_FALSE(parse_percentiles("nan").ok());
}

TEST(Numbers, AreWholeWords) {
  EXPECT_EQ(parse_integer("12"), 12);
  EXPECT_EQ(parse_integer("12x"), std::nullopt);
  EXPECT_EQ(parse_real("inf"), std::nullopt);
}

}  // namespace
}  // namespace tenon::tools
