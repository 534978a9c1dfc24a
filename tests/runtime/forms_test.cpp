// Plans whose graph has another form for some shapes.
#include <gtest/gtest.h>

#include "graphs.h"
#include "ops/table.h"
#include "plan/points.h"

namespace tenon {
namespace {

/// The plan of y = f(x) for two to eight rows of four.
Plan plan_of(PointwiseFunction f) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {*Dim::parse("n"), Dim(4)}});
  Value* y = function(*graph, f, {x});
  y->name = "y";
  graph->add_output(y);
  EXPECT_TRUE(infer_graph(*graph).ok());
  CompileRequest request;
  request.graph = std::move(graph);
  request.profiles = {{{"x", {{2, 4}, {4, 4}, {8, 4}}}}};
  request.backend = cpu_backend(1);
  request.select.level = 0;
  TimingCache cache;
  NullLogger logger;
  auto plan = compile(std::move(request), cache, logger);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

/// Up to three rows run by its other form, which shows: that one computes something else.
Plan plan_with_form() {
  Plan plan = plan_of(PointwiseFunction::k_neg);
  plan.forms.push_back(std::move(plan_of(PointwiseFunction::k_abs).graph));
  plan.choices = {{{{"n", 2}}, {}, 1}, {{{"n", 4}}}, {{{"n", 8}}}};
  return plan;
}

Result<Plan> stored(const Plan& plan) {
  TENON_ASSIGN(const LargeBytes bytes, write_plan(plan));
  return read_plan(bytes, nullptr);
}

TEST(Forms, RunTheShapesOfTheirChoices) {
  auto plan = stored(plan_with_form());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto made = Engine::create(std::move(*plan), cpu_backend(1));
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const int64_t rows : {2, 8, 2, 5, 4}) {
    const Tensor x = numbers({rows, 4}, 3, 1);
    const auto y = run_engine(*made, {x}, 1);
    ASSERT_TRUE(y.ok()) << y.error().message;
    ASSERT_EQ((*y)[0].extents(), x.extents());
    for (int64_t i = 0; i < x.count(); ++i)
      EXPECT_EQ((*y)[0].as_double(i), rows == 2 ? std::abs(x.as_double(i)) : -x.as_double(i))
          << rows;
  }
}

TEST(Forms, ShareWeightsInFiles) {
  Plan plan = plan_of(PointwiseFunction::k_neg);
  const auto alone = write_plan(plan);
  const Tensor weights = numbers({64, 1024}, 1, 1);
  const auto with_weights = [&](Graph& graph) {
    Value* constant = graph.add_constant(weights);
    constant->type = {DataType::kFloat32, to_shape(weights.extents())};
  };
  with_weights(*plan.graph);
  const auto once = write_plan(plan);
  plan.forms.push_back(plan.graph->clone());
  const auto twice = write_plan(plan);
  ASSERT_TRUE(alone.ok() && once.ok() && twice.ok());
  EXPECT_GE(once->size(), alone->size() + static_cast<size_t>(weights.byte_count()));
  EXPECT_LT(twice->size(), once->size() + 8192);
}

TEST(Forms, OfOtherInputsOrNumbersAreDamage) {
  Plan plan = plan_with_form();
  plan.choices[0].form = 2;
  const auto beyond = stored(plan);
  ASSERT_FALSE(beyond.ok());
  EXPECT_NE(beyond.error().message.find("form 2 of 1"), std::string::npos)
      << beyond.error().message;
  plan.choices[0].form = 1;
  plan.forms[0]->inputs()[0]->name = "z";
  const auto other = stored(plan);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("other inputs or outputs"), std::string::npos)
      << other.error().message;
}

TEST(Forms, AreLeftOutOfCopiesThatRunByTheGraphAlone) {
  const Plan plan = plan_with_form();
  const Plan copy = copy_of(plan);
  EXPECT_TRUE(copy.forms.empty());
  EXPECT_EQ(copy.choices.size(), 2u);
  const Plan of_form = plan_of_form(plan, 1);
  EXPECT_TRUE(of_form.choices.empty());
  EXPECT_EQ(of_form.graph->nodes()[0]->as<Pointwise>()->function, PointwiseFunction::k_abs);
}

}  // namespace
}  // namespace tenon
