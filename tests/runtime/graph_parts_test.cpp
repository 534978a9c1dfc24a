// Graphs with data-dependent shapes run in parts: stretches that are lists of steps, and the nodes
// between them that decide extents.
#include "plan/graph_parts.h"

#include <gtest/gtest.h>

#include "../tolerances.h"
#include "graphs.h"
#include "plan/points.h"

namespace tenon {
namespace {

/// "[first second] places [last]": the names of each stretch's nodes, and of the deciding nodes.
std::string names_of(const std::vector<GraphPart>& parts) {
  std::string text;
  for (const GraphPart& part : parts) {
    std::vector<std::string> names;
    for (size_t i = 0; part.graph != nullptr && i < part.graph->nodes().size(); ++i)
      if (!part.graph->nodes()[i]->is<Constant>()) names.push_back(part.graph->nodes()[i]->name);
    text +=
        part.node != nullptr ? " " + part.node->name : fmt::format(" [{}]", fmt::join(names, " "));
  }
  return text;
}

constexpr char kPlaces[] = R"((%0: f32[rows,6]) {
  %1 = relu "first"(%0) : f32[rows,6]
  %2 = nonzero "places"(%1) : i64[2,found]
  %3 = cast "numbers"(%2) {to = f32} : f32[2,found]
  %4 = tanh "beside"(%1) : f32[rows,6]
  %5 = nonzero "again"(%3) : i64[2,others]
  %6 = concat "both"(%1, %4) {axis = 1} : f32[rows,12]
  %7 = exp "end"(%3) : f32[2,found]
  return %7, %6, %5
})";

TEST(GraphParts, StretchesAreAsLongAsTheExtentsThatAreKnownAllow) {
  const auto graph = named_graph(kPlaces);
  const auto parts = split_by_symbols(*graph, {"rows"});
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_EQ(names_of(*parts), " [first beside both] places [numbers end] again");
  EXPECT_EQ(parts->front().inputs.size(), 1u);
  EXPECT_EQ(parts->front().outputs.size(), 2u);
  EXPECT_EQ(parts->front().symbols, (std::set<std::string>{"rows"}));
}

TEST(Points, AxesBehindTheFirstMayVary) {
  const auto vary = [](const char* type) {
    const auto graph =
        named_graph(fmt::format("(%0: {0}) {{\n  %1 = relu(%0) : {0}\n  return %1\n}}", type));
    return inner_axes_vary(*graph);
  };
  EXPECT_TRUE(vary("f32[rows,columns]"));
  EXPECT_TRUE(vary("f32[2,columns]"));
  EXPECT_FALSE(vary("f32[rows,6]"));
  EXPECT_FALSE(vary("f32[2,6]"));
  EXPECT_FALSE(vary("f32[]"));
}

TEST(GraphParts, WholeGraphsWithoutSuchNodesAreOneStretch) {
  const auto graph = named_graph(R"((%0: f32[rows,6]) {
  %1 = relu "first"(%0) : f32[rows,6]
  %2 = tanh "second"(%1) : f32[rows,6]
  return %2
})");
  const auto parts = split_by_symbols(*graph, {"rows"});
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_EQ(names_of(*parts), " [first second]");
  const auto without = split_by_symbols(*graph, {});
  ASSERT_TRUE(without.ok());
  // The first one decides the rows of both.
  EXPECT_EQ(names_of(*without), " first [second]");
}

/// Nothing reads the places: only how many they are.
constexpr char kCounted[] = R"((%0: f32[rows,6]) {
  %1 = nonzero "places"(%0) : i64[2,found]
  %2 = nonzero "again"(%0) : i64[2,others]
  %3 = shape "counts"(%1) : i64[2]
  %4 = shape "others"(%2) : i64[2]
  %5 = add "both"(%3, %4) : i64[2]
  return %5, %3
})";

/// The images of a slice that runs backwards are as many as there are, and lie channels-last as
/// those of the convolution ahead.
constexpr char kBackwards[] = R"((%0: f32[rows,2,3,3]) {
  %1 = constant() {value = f32[3,2,1,1]{1,2,3,4,5,6}} : f32[3,2,1,1]
  %2 = conv "conv"(%0, %1) : f32[rows,3,3,3]
  %3 = constant() {value = i64[1]{2}} : i64[1]
  %4 = constant() {value = i64[1]{-3}} : i64[1]
  %5 = constant() {value = i64[1]{0}} : i64[1]
  %6 = constant() {value = i64[1]{-2}} : i64[1]
  %7 = slice "slice"(%2, %3, %4, %5, %6) : f32[found,3,3,3]
  %8 = tanh "behind"(%7) : f32[found,3,3,3]
  return %7, %8
})";

/// Of the input when it has so many rows.
Extents with_rows(const Graph& graph, int64_t rows) {
  Extents extents;
  for (const Dim& dim : graph.inputs()[0]->type.shape)
    extents.push_back(*dim.evaluate({{"rows", rows}}));
  return extents;
}

/// Runs of several shapes agree with the reference.
void expect_right_runs(const char* text) {
  for (const int64_t rows : {3, 5, 3}) {
    const auto graph = named_graph(text);
    const std::vector<Tensor> inputs = {numbers(with_rows(*graph, rows), 2, 0.3)};
    const auto expected = evaluate_graph(*graph, inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const auto engine =
        engine_of(graph->clone(),
                  {{{"in0", {with_rows(*graph, 1), with_rows(*graph, 4), with_rows(*graph, 8)}}}});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    EXPECT_TRUE((*engine)->data_dependent());
    const auto results = run_engine(*engine, inputs);
    ASSERT_TRUE(results.ok()) << results.error().message;
    for (size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*results)[i].extents(), (*expected)[i].extents()) << "output " << i;
      for (int64_t k = 0; k < (*expected)[i].count(); ++k)
        EXPECT_NEAR((*results)[i].as_double(k), (*expected)[i].as_double(k), test::kNear) << k;
    }
  }
}

TEST(GraphParts, RunRight) {
  expect_right_runs(kPlaces);
}

TEST(GraphParts, ResultsOfTheHostHaveThePlansLayout) {
  expect_right_runs(kBackwards);
}

TEST(GraphParts, ExtentsAreDecidedThoughNothingElseIsRead) {
  expect_right_runs(kCounted);
}

class NamedTimes final : public StepTimes {
 public:
  explicit NamedTimes(const Graph& graph) : graph_(graph) {}
  void report(const Node& node, double) override {
    EXPECT_EQ(&node.graph(), &graph_);
    ++count;
  }
  int count = 0;

 private:
  const Graph& graph_;
};

TEST(GraphParts, TimesAreThoseOfThePlansNodes) {
  auto graph = named_graph(kPlaces);
  const auto engine = engine_of(std::move(graph), {{{"in0", {{1, 6}, {4, 6}, {8, 6}}}}});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 1);
  ASSERT_TRUE(context.ok());
  Tensor x = numbers({3, 6}, 2, 0.3);
  ASSERT_TRUE((*context)->set_address("in0", x.mutable_bytes()).ok());
  ASSERT_TRUE((*context)->set_input_shape("in0", {3, 6}).ok());
  std::vector<Tensor> outputs(3);
  for (int i = 0; i < 3; ++i) {
    const Value& value = *(*engine)->graph().outputs()[i];
    ASSERT_TRUE(
        (*context)
            ->set_allocator(value.name,
                            [&outputs, &value, i](const Extents& e, size_t, void*) -> void* {
                              outputs[i] = Tensor(value.type.type, e);
                              return outputs[i].mutable_bytes();
                            })
            .ok());
  }
  NamedTimes times((*engine)->graph());
  (*context)->set_step_times(&times);
  const Status status = (*context)->enqueue();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_GE(times.count, 4);
}

}  // namespace
}  // namespace tenon
