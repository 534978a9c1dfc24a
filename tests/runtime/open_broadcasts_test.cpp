// Extents that symbols leave open broadcast under some shapes of a plan's profile, either way.
#include <gtest/gtest.h>

#include "graphs.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// A plan for `least` to 6 of each of the symbols, 5 usually.
Plan plan_for(const std::string& text, bool opens_broadcasts = true, int64_t least = 1) {
  CompileRequest request;
  request.graph = named_graph(text);
  Profile profile;
  for (const Value* input : request.graph->inputs()) {
    ShapeRange& range = profile[input->name];
    for (const Dim& dim : input->type.shape) {
      const bool is_open = !dim.is_constant();
      range.min.push_back(is_open ? least : dim.constant());
      range.opt.push_back(is_open ? 5 : dim.constant());
      range.max.push_back(is_open ? 6 : dim.constant());
    }
  }
  request.profiles = {profile};
  request.backend = cpu_backend(2);
  request.select.threads = 2;
  request.opens_broadcasts = opens_broadcasts;
  TimingCache cache;
  NullLogger logger;
  auto plan = compile(std::move(request), cache, logger);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

std::shared_ptr<Engine> engine_of(const Plan& plan) {
  auto bytes = write_plan(plan);
  EXPECT_TRUE(bytes.ok());
  auto loaded = read_plan(*bytes, nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  auto engine = Engine::create(std::move(*loaded), cpu_backend(2));
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return std::move(engine).value();
}

std::shared_ptr<Engine> engine_for(const std::string& text, bool opens_broadcasts = true,
                                   int64_t least = 1) {
  return engine_of(plan_for(text, opens_broadcasts, least));
}

/// The inputs of the text under values of its symbols.
std::vector<Tensor> inputs_of(const std::string& text, const SymbolValues& symbols) {
  std::vector<Tensor> inputs;
  const auto graph = named_graph(text);
  for (const Value* input : graph->inputs()) {
    Extents extents;
    for (const Dim& dim : input->type.shape) extents.push_back(dim.evaluate(symbols).value_or(0));
    inputs.push_back(numbers(extents, static_cast<int>(inputs.size()) * 5, 0.25));
  }
  return inputs;
}

/// The results, operator by operator, under these shapes alone.
std::vector<Tensor> reference(const std::string& text, const SymbolValues& symbols) {
  const auto graph = named_graph(text);
  const std::vector<Tensor> inputs = inputs_of(text, symbols);
  auto results = evaluate_graph(*graph, inputs);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? std::move(results).value() : std::vector<Tensor>();
}

void expect_all(const std::string& text, const std::vector<SymbolValues>& shapes,
                const std::shared_ptr<Engine>& engine) {
  for (const SymbolValues& symbols : shapes) {
    const std::vector<Tensor> expected = reference(text, symbols);
    const auto found = run_engine(engine, inputs_of(text, symbols));
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ(found->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((*found)[i].extents(), expected[i].extents()) << i;
      for (int64_t k = 0; k < expected[i].count(); ++k)
        ASSERT_NEAR((*found)[i].as_double(k), expected[i].as_double(k), 1e-4) << i << ' ' << k;
    }
  }
}

void expect_all(const std::string& text, const std::vector<SymbolValues>& shapes) {
  expect_all(text, shapes, engine_for(text));
}

const std::vector<SymbolValues> kPairs = {{{"n", 5}, {"m", 5}}, {{"n", 1}, {"m", 6}},
                                          {{"n", 6}, {"m", 1}}, {{"n", 1}, {"m", 1}},
                                          {{"n", 1}, {"m", 3}}, {{"n", 4}, {"m", 4}}};

TEST(OpenBroadcasts, ElementsAndTheirSums) {
  expect_all(R"((%0: f32[n,4], %1: f32[m,4]) {
    %2 = sub(%0, %1) : f32[n,4]
    %3 = mul(%2, %1) : f32[n,4]
    %4 = add(%0, %3) : f32[n,4]
    %5 = exp(%1) : f32[m,4]
    return %4, %5
  })",
             kPairs);
}

TEST(OpenBroadcasts, ThreeOfOneAxis) {
  expect_all(R"((%0: f32[n,4], %1: f32[m,4], %2: f32[k,1]) {
    %3 = add(%0, %1) : f32[n,4]
    %4 = mul(%3, %2) : f32[n,4]
    return %4
  })",
             {{{"n", 1}, {"m", 1}, {"k", 6}},
              {{"n", 1}, {"m", 6}, {"k", 1}},
              {{"n", 5}, {"m", 1}, {"k", 5}},
              {{"n", 1}, {"m", 3}, {"k", 3}},
              {{"n", 5}, {"m", 5}, {"k", 5}}});
}

TEST(OpenBroadcasts, BatchesOfProducts) {
  expect_all(R"((%0: f32[n,3,8], %1: f32[m,8,5], %2: f32[m,3,5]) {
    %3 = matmul(%0, %1) : f32[n,3,5]
    %4 = add(%3, %2) : f32[n,3,5]
    %5 = relu(%4) : f32[n,3,5]
    return %5
  })",
             kPairs);
}

TEST(OpenBroadcasts, OtherExtentsStayErrors) {
  const std::string text = R"((%0: f32[n,4], %1: f32[m,4]) {
    %2 = add(%0, %1) : f32[n,4]
    return %2
  })";
  const auto mixed = run_engine(engine_for(text), inputs_of(text, {{"n", 2}, {"m", 3}}));
  ASSERT_FALSE(mixed.ok());
  EXPECT_NE(mixed.error().message.find("must be equal, or one of them 1"), std::string::npos)
      << mixed.error().message;
  // Without a form for broadcasts.
  const auto equal = run_engine(engine_for(text, false), inputs_of(text, {{"n", 1}, {"m", 3}}));
  ASSERT_FALSE(equal.ok());
  EXPECT_NE(equal.error().message.find("taken as equal"), std::string::npos);
}

/// Plans are refitted in the form for broadcasts as well.
TEST(OpenBroadcasts, TakeOtherWeights) {
  const auto text = [](std::string_view weights) {
    return fmt::format(R"((%0: f32[n,2], %1: f32[m,2]) {{
      %2 = constant() {{value = f32[2,2]{{{}}}}} : f32[2,2]
      %3 = matmul(%0, %2) : f32[n,2]
      %4 = add(%3, %1) : f32[n,2]
      return %4
    }})",
                       weights);
  };
  const std::string before = text("1,2,3,4"), after = text("5,-6,7,0.5");
  const auto engine = engine_for(before);
  expect_all(before, kPairs, engine);
  const Status refitted = engine->refit(plan_for(after));
  ASSERT_TRUE(refitted.ok()) << refitted.error().message;
  expect_all(after, kPairs, engine);
  expect_all(after, kPairs, engine_of(engine->plan()));
  // Of another number of forms: it is refused, or all are replaced.
  const Status alone = engine->refit(plan_for(before, false));
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  expect_all(before, {kPairs.front()}, engine);
}

TEST(OpenBroadcasts, NothingIsBroadcastWhereOneIsEmpty) {
  const std::string text = R"((%0: f32[n,4], %1: f32[m,4]) {
    %2 = add(%0, %1) : f32[n,4]
    return %2
  })";
  const auto engine = engine_for(text, true, 0);
  const auto rows = [&](int64_t n, int64_t m) -> int64_t {
    const auto found = run_engine(engine, inputs_of(text, {{"n", n}, {"m", m}}));
    return found.ok() ? (*found)[0].extents()[0] : -1;
  };
  EXPECT_EQ(rows(0, 0), 0);
  EXPECT_EQ(rows(0, 1), 0);
  EXPECT_EQ(rows(1, 3), 3);
  EXPECT_EQ(rows(3, 1), 3);
  EXPECT_NE(rows(1, 0), 1) << "it has 0 rows, or is an error";
}

/// The sum is not computed, but its extents decide those of the result.
TEST(OpenBroadcasts, NodesThatAreNotNeededBroadcastToo) {
  expect_all(R"((%0: f32[n,4], %1: f32[m,4]) {
    %2 = sub(%0, %1) : f32[n,4]
    %3 = shape(%2) : i64[2]
    %4 = expand(%0, %3) : f32[n,4]
    return %4
  })",
             kPairs);
}

TEST(OpenBroadcasts, OneSymbolNeedsNoOtherForm) {
  const auto engine = engine_for(R"((%0: f32[n,4], %1: f32[n,4], %2: f32[m,4]) {
    %3 = add(%0, %1) : f32[n,4]
    %4 = exp(%2) : f32[m,4]
    return %3, %4
  })");
  EXPECT_TRUE(engine->plan().forms.empty());
}

}  // namespace
}  // namespace tenon
