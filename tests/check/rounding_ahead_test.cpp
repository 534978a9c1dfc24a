// Evaluations beside the build.
#include "check/rounding_ahead.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/stop.h"

namespace tenon {
namespace {

TEST(RoundingAheadTest, IsEvaluatedOnceOfTheGraphThatItSaw) {
  RoundingAhead rounding;
  int evaluated = 0;
  std::string name;
  const auto evaluate = [&](const Graph& graph) -> RoundingAhead::Outputs {
    ++evaluated, name = graph.name;
    return std::vector<Tensor>(2);
  };
  rounding.begin(evaluate);
  EXPECT_FALSE(rounding.take().has_value()) << "it saw no graph";
  Graph graph;
  graph.name = "seen";
  rounding.see(graph);
  rounding.begin(evaluate);
  rounding.begin(evaluate);
  const auto outputs = rounding.take();
  ASSERT_TRUE(outputs.has_value() && outputs->ok());
  EXPECT_EQ((*outputs)->size(), 2u);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(name, "seen");
  EXPECT_FALSE(rounding.take().has_value());
}

TEST(RoundingAheadTest, EndsEarlyWhenItIsNotAskedFor) {
  RoundingAhead rounding;
  rounding.see(Graph());
  rounding.begin([](const Graph&) -> RoundingAhead::Outputs {
    while (!stop_requested()) {
    }
    return unsupported("stopped");
  });
  rounding.drop();
  EXPECT_FALSE(rounding.take().has_value());
  rounding.begin([](const Graph&) -> RoundingAhead::Outputs { return std::vector<Tensor>(); });
  EXPECT_FALSE(rounding.take().has_value()) << "later plans may round elsewhere";
}

}  // namespace
}  // namespace tenon
