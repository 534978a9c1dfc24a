// Where copies of streamed weights begin, their text, and the lists that are refused.
#include "lower/weight_loads.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "lower/step_text.h"
#include "lower/verify_steps.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Groups of one step each.
std::vector<StepSpan> alone(int steps) {
  std::vector<StepSpan> groups;
  for (int i = 0; i < steps; ++i) groups.push_back({i, i + 1});
  return groups;
}

StreamedWeight weight(int step, size_t bytes) {
  return {.step = step, .operand = 1, .bytes = bytes};
}

TEST(WeightLoads, OneArrivesWhileTheOneAheadIsRead) {
  const StreamedWeight weights[] = {weight(0, 100), weight(2, 100), weight(5, 100), weight(6, 100)};
  EXPECT_EQ(plan_weight_loads(weights, alone(7)), (std::vector<int>{0, 0, 1, 3}));
}

TEST(WeightLoads, SmallOnesComeAsFarAheadAsThereIsRoom) {
  const StreamedWeight weights[] = {weight(1, 300), weight(2, 100), weight(3, 100), weight(4, 100)};
  // 400 bytes for the first two: the third waits for the first to be done with.
  EXPECT_EQ(plan_weight_loads(weights, alone(5)), (std::vector<int>{0, 0, 2, 2}));
}

TEST(WeightLoads, GroupsOfStepsBeginAndEndTogether) {
  const std::vector<StepSpan> groups = {{0, 3}, {0, 3}, {0, 3}, {3, 4}, {4, 5}};
  const StreamedWeight weights[] = {weight(1, 50), weight(2, 50), weight(3, 100), weight(4, 100)};
  EXPECT_EQ(plan_weight_loads(weights, groups), (std::vector<int>{0, 0, 0, 3}));
  EXPECT_TRUE(plan_weight_loads({}, groups).empty());
}

constexpr const char* kNodes = R"(graph "g" (%0 "x": f32[4]) {
  %1 = relu "a"(%0) : f32[4]
  %2 "y" = relu "b"(%1) : f32[4]
  return %2
})";

/// Step 1 reads a constant of its kernel's from b0.
std::string list_text(const char* load, int last, const char* operand) {
  return fmt::format(R"(steps "g" (1, 1) {{
  buffer b0 [16]: steps 0 to {}
  step 0 "a": 0 @k (i0) -> (o0){}
  step 1 "b": 1 @k ({}) -> (o0) own (_, b0)
}}
)",
                     last, load, operand);
}

std::string fault(const std::string& text) {
  const auto list = parse_steps(text);
  if (!list.ok()) return list.error().message;
  EXPECT_EQ(print(*list), text);
  const auto graph = parse_graph(kNodes);
  if (!graph.ok()) return graph.error().message;
  const Status status = verify(*list, **graph);
  return status.ok() ? "" : status.error().message;
}

TEST(WeightLoads, ListsSayWhereTheyBegin) {
  EXPECT_EQ(fault(list_text(" load 1 own 1 b0 16", 1, "o0")), "");
  EXPECT_EQ(fault(list_text(" load 1 own 1 b0 16 load 1 in 0 b0 16", 1, "b0")), "");
  EXPECT_NE(fault(list_text("", 1, "o0")).find("reads buffer 0 before it is written"),
            std::string::npos);
  EXPECT_NE(fault(list_text(" load 1 own 0 b0 16", 1, "o0")).find("that step 1 does not read"),
            std::string::npos);
  EXPECT_NE(fault(list_text(" load 1 own 1 b0 16", 0, "o0")).find("does not last there"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
