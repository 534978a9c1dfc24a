// Random graphs compute the same before and after each pass, and after the whole pipeline.
#include <gtest/gtest.h>

#include <map>

#include "ir/text.h"
#include "numeric.h"
#include "ops/numerics.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "random_graph.h"

namespace tenon {
namespace {

constexpr uint64_t kSeeds = 250, kPipelineSeeds = 1000;
const double kTolerance = tolerance(Computation::kTransform, DataType::kFloat32).relative;

TEST(Passes, EachPassKeepsResults) {
  NullLogger logger;
  const PassOptions options;
  std::map<std::string_view, int> fired;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto graph = random_graph(seed % 2 == 0 ? seed : kBranchSeeds + seed, 25);
    const std::vector<Tensor> inputs = random_inputs(*graph, seed);
    for (const PassInfo& pass : pass_table()) {
      const auto changed = graph->clone();
      PassContext context(options, logger);
      const auto result = run_pass(*changed, pass, context);
      ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.error().message;
      ASSERT_EQ(compare_graphs(*graph, *changed, seed, kTolerance), "")
          << pass.name << ", seed " << seed << "\n"
          << print(*graph) << print(*changed);
      fired[pass.name] += *result ? 1 : 0;
    }
  }
  // Graphs that no rule matches would show nothing.
  for (const char* name : {"simplify", "fold_into_weights", "sink_reshapes", "fuse_epilogue",
                           "fuse_pointwise", "fuse_independent", "choose_layouts", "unroll_loops",
                           "hoist_invariants", "fuse_reductions", "merge_branches"})
    EXPECT_GT(fired[name], 5) << name;
}

TEST(Passes, ThePipelineKeepsResults) {
  NullLogger logger;
  for (uint64_t seed = 0; seed < kPipelineSeeds; ++seed) {
    const auto graph = random_graph(seed % 2 == 0 ? seed : kBranchSeeds + seed, 40);
    const auto changed = graph->clone();
    const auto result = run_passes(*changed, {}, logger);
    ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.error().message;
    ASSERT_EQ(compare_graphs(*graph, *changed, seed, kTolerance), "")
        << "seed " << seed << "\n"
        << print(*graph) << print(*changed);
  }
}

TEST(Passes, StepsAheadOfPrecisionAreTheSameWhateverItIs) {
  NullLogger logger;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto whole = random_graph(seed, 40);
    const auto parts = whole->clone();
    ASSERT_TRUE(run_passes(*whole, {}, logger).ok()) << seed;
    PassOptions options;
    options.precision = DataType::kBFloat16;
    options.steps = steps_before_precision();
    ASSERT_TRUE(run_passes(*parts, options, logger).ok()) << seed;
    options = {};
    options.steps_before = steps_before_precision();
    ASSERT_TRUE(run_passes(*parts, options, logger).ok()) << seed;
    EXPECT_EQ(print(*parts), print(*whole)) << seed;
  }
}

}  // namespace
}  // namespace tenon
