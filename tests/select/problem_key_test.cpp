// Facts that decide between kernels are in the key of their times.
#include "select/problem_key.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/algorithm.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"
#include "select/select.h"

namespace tenon {
namespace {

/// The last node of a graph as a problem of the CPU.
struct Asked {
  std::unique_ptr<Graph> graph;
  std::optional<ConcreteGraph> concrete;
  Backend backend = cpu_backend(2);
  Problem problem;

  explicit Asked(const std::string& text) {
    auto parsed = parse_graph(text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    graph = std::move(*parsed);
    EXPECT_TRUE(infer_graph(*graph).ok());
    auto made = ConcreteGraph::create(*graph, {});
    EXPECT_TRUE(made.ok());
    concrete.emplace(std::move(*made));
    problem = concrete->problem(*graph->nodes().back(), backend, 2);
  }
  std::string key() const { return problem_key(problem); }
  bool takes(std::string_view tactic) const {
    const Tactic* row = backend.find(tactic);
    return row != nullptr && row->supports(problem).yes;
  }
};

/// A product of 128 rows, whose weights the test sets.
Asked product(const std::string& left) {
  Asked asked("graph \"\" (%0 \"x\": f32[128,768], %1 \"w\": f32[768,768]) {" + left +
              " %9 = matmul(%3,%1) : f32[128,768] return %9}");
  static const Tensor weights(DataType::kFloat32, {768, 768});
  asked.problem.inputs[1].constant = &weights;
  return asked;
}
constexpr char kNormalized[] = " %3 = normalization(%0){norm = rms, axis = -1} : f32[128,768]";
constexpr char kAny[] = " %3 = relu(%0) : f32[128,768]";

TEST(ProblemKey, StrassenIsATacticOfItsOwn) {
  const Asked uniform = product(kNormalized), any = product(kAny);
  EXPECT_TRUE(uniform.takes("cpu.gemm.strassen"));
  EXPECT_TRUE(uniform.takes("cpu.gemm.packed"));
  EXPECT_FALSE(any.takes("cpu.gemm.strassen"));
  const Backend& backend = uniform.backend;
  EXPECT_NE(timing_key(uniform.key(), *backend.find("cpu.gemm.strassen"), ""),
            timing_key(uniform.key(), *backend.find("cpu.gemm.packed"), ""));
}

/// Only one of the two may have Strassen's kernel, so they may not share a list of candidates.
TEST(ProblemKey, TellsRowsThatAreAlike) {
  EXPECT_NE(product(kNormalized).key(), product(kAny).key());
}

TEST(ProblemKey, TellsInstructionsAndPackedWeights) {
  Asked asked = product(kAny);
  const std::string plain = asked.key();
  asked.problem.isa_limit = 0;
  const std::string limited = asked.key();
  EXPECT_NE(limited, plain);
  asked.problem.isa_limit = Problem{}.isa_limit;
  const std::byte bytes[64] = {};
  asked.problem.packed = bytes;
  EXPECT_NE(asked.key(), plain);
}

/// Along one axis a sum runs through memory, along the other across it.
TEST(ProblemKey, TellsAxesThatAreConstants) {
  Asked asked(
      "graph \"\" (%0 \"x\": f32[64,64], %1 \"axis\": i64[]) {"
      " %2 = cumulative(%0,%1) : f32[64,64] return %2}");
  const Tensor rows = Tensor::scalar_i64(0), columns = Tensor::scalar_i64(1);
  asked.problem.inputs[1].constant = &rows;
  const std::string first = asked.key();
  asked.problem.inputs[1].constant = &columns;
  EXPECT_NE(asked.key(), first);
}

TEST(ProblemKey, SaysNothingOfWeights) {
  Asked asked = product(kAny);
  const std::string key = asked.key();
  Tensor other(DataType::kFloat32, {768, 768});
  other.set_from_double(0, 17);
  asked.problem.inputs[1].constant = &other;
  EXPECT_EQ(asked.key(), key);
}

TEST(Algorithms, TheRowsOfTransformsSaySo) {
  for (const Tactic& tactic : cpu_tactics()) {
    const bool named = tactic.name.find("winograd") != std::string_view::npos ||
                       tactic.name.find("strassen") != std::string_view::npos;
    // Those of integers round nothing.
    const bool rounds = named && !tactic.name.starts_with("cpu.quantized.");
    EXPECT_EQ(rounds, tactic.traits.algorithm != Algorithm::kPlain) << tactic.name;
    EXPECT_EQ(algorithm_of(tactic.name), tactic.traits.algorithm) << tactic.name;
  }
}

TEST(ProblemKey, TellsNumerics) {
  Asked asked = product(kNormalized);
  const std::string usual = asked.key();
  asked.problem.numerics.strassen = false;
  EXPECT_NE(asked.key(), usual);
  EXPECT_FALSE(asked.takes("cpu.gemm.strassen"));
  EXPECT_TRUE(asked.takes("cpu.gemm.packed"));
  asked.problem.numerics = {.winograd = false};
  EXPECT_NE(asked.key(), usual);
  EXPECT_TRUE(asked.takes("cpu.gemm.strassen"));
  asked.problem.numerics = {.bf16_parts = false};
  EXPECT_NE(asked.key(), usual);
  asked.problem.numerics = {.long_float8_sums = false};
  EXPECT_NE(asked.key(), usual);
}

/// An editable cache that a build by default filled says nothing of an exact one.
TEST(Algorithms, ExactBuildsChooseAmongPlainKernels) {
  const Asked asked = product(kNormalized);
  TimingCache cache;
  SelectOptions options;
  Problem plain = asked.problem;
  plain.numerics = plain.numerics.exact();
  const auto exact = list_candidates(asked.backend, plain, options, cache);
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  for (const Candidate& candidate : *exact)
    EXPECT_TRUE(algorithm_of(candidate.tactic) == Algorithm::kPlain || !candidate.reason.empty());
  const auto usual = list_candidates(asked.backend, asked.problem, options, cache);
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  bool has_strassen = false;
  for (const Candidate& candidate : *usual)
    has_strassen |= candidate.tactic == "cpu.gemm.strassen" && candidate.milliseconds > 0;
  EXPECT_TRUE(has_strassen) << "both were timed";
}

}  // namespace
}  // namespace tenon
