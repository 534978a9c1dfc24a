// Profiles decide which of two open extents is broadcast, where their usual shapes do.
#include "select/usual_broadcasts.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/extent_rules.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr char kText[] = R"(graph "" (%0: f32[n,4], %1: f32[m,4]) {
  %2 = sub "difference"(%0, %1) : f32[n,4]
  %3 = add "sum"(%2, %1) : f32[n,4]
  return %3
})";

class UsualBroadcasts : public testing::Test {
 protected:
  void SetUp() override {
    auto parsed = parse_graph(kText);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    graph = std::move(parsed).value();
  }
  void expand(std::vector<SymbolValues> usual) {
    const Status status = expand_usual_broadcasts(*graph, usual);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  /// Rows of the result, 0 where a rule of the graph is broken.
  int64_t rows(int64_t n, int64_t m) {
    const SymbolValues values = {{"n", n}, {"m", m}};
    const auto rules = ExtentRules::of(*graph);
    if (!rules.ok() || !rules->check(values).ok()) return 0;
    return graph->outputs()[0]->type.shape[0].evaluate(values).value_or(0);
  }
  std::unique_ptr<Graph> graph;
};

TEST_F(UsualBroadcasts, TheFirstOperandIsExpanded) {
  expand({{{"n", 3}, {"m", 3}}, {{"n", 1}, {"m", 3}}});
  EXPECT_EQ(graph->nodes().size(), 4) << "one operand is expanded, by one shape";
  EXPECT_EQ(rows(1, 3), 3);
  EXPECT_EQ(rows(3, 1), 3);
  EXPECT_EQ(rows(3, 3), 3);
  EXPECT_EQ(rows(1, 1), 1);
}

TEST_F(UsualBroadcasts, OthersStayAsTheyAre) {
  expand({{{"n", 3}, {"m", 3}}, {{"n", 3}, {"m", 1}}, {{"n", 1}, {"m", 1}}});
  EXPECT_EQ(graph->nodes().size(), 2);
  EXPECT_EQ(rows(3, 1), 3);
  EXPECT_EQ(rows(1, 3), 0) << "the rule is broken";
}

}  // namespace
}  // namespace tenon
