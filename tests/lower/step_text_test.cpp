// The plan level's text, arenas and checks, on lists that are written by hand.
#include "lower/step_text.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "lower/verify_steps.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr const char* kEverything =
    R"(steps "all \"of\" it" (2, 1) only where batch = 8, "the width" = 3 {
  buffer b0 [802816*batch]: steps 0 to 2, of 5 0
  buffer b1 [scratch1]: steps 1 to 1, above b0
  buffer b2 [4*"the width"]: steps 1 to 3, of 7 1, above b0 b1
  step 0 "conv1 + relu1": 5 @cpu.conv.direct{mb=14} (i0, c3, _) -> (b0)
  step 1 "odd": 7 @"a tactic {of spaces}" (b0[128,4096], c6, i1[64*batch]) -> (b2, b0) scratch b1 samples [batch]
  step 2 "apart": 8 @k (b2) -> (b2[8]) section 1 stream 2 fenced overlapped fetch 4 16 65536
  step 3 "loop": 9 @bodies (b2) -> (o0) {
    steps "body" (1, 1) {
      step 0 "inner": -1 copy [4] (i0) -> (o0)
    }
    steps "" (0, 0) {
    }
  }
}
)";

TEST(StepText, ReadsBack) {
  const auto list = parse_steps(kEverything);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(print(*list), kEverything);
  const auto again = parse_steps(print(*list));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *list);
  EXPECT_EQ(list->steps[1].samples, Dim::symbol("batch"));
  EXPECT_EQ(list->steps[2].fetch, (StepFetch{4, 16, 65536}));
  EXPECT_EQ(list->steps[3].bodies.size(), 2);
}

TEST(StepText, SaysWhereItIsWrong) {
  const auto error = [](const char* text) {
    const auto list = parse_steps(text);
    return list.ok() ? std::string("none") : list.error().message;
  };
  EXPECT_EQ(error("steps \"a\" (1, 1) {\n  buffer b1 [4]: steps 0 to 1\n}"),
            "line 2, column 12: the number 0 expected");
  EXPECT_EQ(error("steps \"a\" (1, 1) {\n  step 0 \"x\": 1 @k (z0) -> ()\n}"),
            "line 2, column 21: an operand expected: b, i, o or c with a number, or _");
  EXPECT_EQ(error("steps \"a\" (1, 1) {\n"), "line 2, column 1: '}' expected");
}

/// Neighbours of one section run together, and else steps that take the samples of one batch.
TEST(StepText, GroupsEndWithTheirSectionOrBatch) {
  const auto list = parse_steps(R"(steps "" (1, 1) {
  step 0 "a": 1 @k (i0) -> (o0) samples [batch]
  step 1 "b": 2 @k (i0) -> (o0) samples [batch]
  step 2 "c": 3 @k (i0) -> (o0) samples [other]
  step 3 "d": 4 @k (i0) -> (o0) section 1 stream 0
  step 4 "e": 5 @k (i0) -> (o0) samples [batch] section 1 stream 1
  step 5 "f": 6 @k (i0) -> (o0) section 2 stream 0
  step 6 "g": 7 @k (i0) -> (o0)
  step 7 "h": 8 @k (i0) -> (o0)
})");
  ASSERT_TRUE(list.ok()) << list.error().message;
  std::vector<size_t> ends;
  for (size_t first = 0; first < list->steps.size(); first = ends.back())
    ends.push_back(group_end(*list, first));
  EXPECT_EQ(ends, (std::vector<size_t>{2, 3, 5, 6, 7, 8}));
}

TEST(StepText, ArenasFollowFromTheValuesOfSymbols) {
  const auto list = parse_steps(R"(steps "" (0, 0) {
  buffer b0 [100*batch]: steps 0 to 1
  buffer b1 [10]: steps 0 to 0
  buffer b2 [1000]: steps 1 to 2, above b0 b1
})");
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto small = place_buffers(*list, {{"batch", 1}});
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->offsets, (std::vector<size_t>{0, 0, 256}));
  EXPECT_EQ(small->bytes, 1280);
  const auto large = place_buffers(*list, {{"batch", 6}});
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->offsets, (std::vector<size_t>{0, 0, 768}));
  EXPECT_FALSE(place_buffers(*list, {}).ok());
  EXPECT_FALSE(place_buffers(*list, {{"batch", -1}}).ok());
}

constexpr const char* kGraph = R"(graph "g" (%0 "x": f32[8]) {
  %1 = relu "a"(%0) : f32[8]
  %2 "y" = relu "b"(%1) : f32[8]
  return %2
})";

std::string verified(const std::string& body) {
  const auto graph = parse_graph(kGraph);
  const auto list = parse_steps("steps \"g\" (1, 1) {\n" + body + "}\n");
  if (!graph.ok() || !list.ok()) return "no list";
  const Status status = verify(*list, **graph);
  return status.ok() ? "" : status.error().message;
}

TEST(VerifySteps, TakesListsThatCanRun) {
  EXPECT_EQ(verified(R"(  buffer b0 [32]: steps 0 to 1, of 0 0
  step 0 "a": 0 @k (i0) -> (b0)
  step 1 "b": 1 @k (b0) -> (o0)
)"),
            "");
}

TEST(VerifySteps, RefusesOthersByName) {
  EXPECT_NE(verified("  buffer b0 [32]: steps 0 to 1\n  buffer b1 [32]: steps 1 to 1\n"
                     "  step 0 \"a\": 0 @k (i0) -> (b0)\n  step 1 \"b\": 1 @k (b0) -> (b1)\n")
                .find("buffer 1: it lies across buffer 0"),
            std::string::npos);
  EXPECT_NE(verified("  buffer b0 [32]: steps 0 to 0\n  step 0 \"a\": 0 @k (b0) -> (o0)\n")
                .find("step 0: it reads buffer 0 before it is written"),
            std::string::npos);
  EXPECT_NE(verified("  buffer b0 [32]: steps 0 to 0\n  step 0 \"a\": 0 @k (i0) -> (b0)\n"
                     "  step 1 \"b\": 1 @k (b0) -> (o0)\n")
                .find("step 1: buffer 0 does not last there"),
            std::string::npos);
  EXPECT_NE(verified("  step 0 \"a\": 0 @k (i0, c0) -> (o0)\n").find("other operands"),
            std::string::npos);
  EXPECT_NE(verified("  step 0 \"a\": 0 @k (i1) -> (o0)\n").find("no operand 1"),
            std::string::npos);
  EXPECT_NE(verified("  step 0 \"a\": 0 @k (i0) -> (i0)\n").find("writes an input"),
            std::string::npos);
  EXPECT_NE(verified("  step 0 \"a\": 7 @k (i0) -> (o0)\n").find("no node 7"), std::string::npos);
}

}  // namespace
}  // namespace tenon
