// Nothing that decides between kernels is outside of a problem's key: problems with equal keys get
// equal answers of every tactic, whatever their names, neighbours and weights.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "ir/text.h"
#include "kernels/backend.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// An operator over `%x`, a value of the graph, and inputs that become constants.
struct Layer {
  const char* name;
  const char* x;          ///< Its type.
  const char* constants;  ///< Further parameters of the graph.
  const char* text;       ///< Makes %9.
};
constexpr Layer kLayers[] = {
    {"product", "f32[128,768]", ", %1 \"w\": f32[768,768]", "matmul(%x,%1) : f32[128,768]"},
    {"odd product", "f32[5,37]", ", %1 \"w\": f32[37,19]", "matmul(%x,%1) : f32[5,19]"},
    {"convolution", "f32[1,32,20,20]", ", %1 \"w\": f32[32,32,3,3]",
     "conv(%x,%1){pads_begin = [1,1], pads_end = [1,1]} : f32[1,32,20,20]"},
    {"depthwise", "f32[1,32,20,20]", ", %1 \"w\": f32[32,1,3,3]",
     "conv(%x,%1){groups = 32} : f32[1,32,18,18]"},
    {"softmax", "f32[16,64]", "", "softmax(%x){axes = [1]} : f32[16,64]"},
    {"sum", "f32[16,64]", ", %1 \"w\": f32[64]", "add(%x,%1) : f32[16,64]"},
    {"normalization", "f32[16,64]", ", %1 \"w\": f32[64]",
     "normalization(%x,%1){norm = rms, axis = -1} : f32[16,64]"},
    {"reduction", "f32[16,64]", "", "reduce(%x){axes = [1]} : f32[16,1]"},
    {"quantization", "f32[16,64]", ", %1 \"w\": f32[]", "quantize(%x,%1) : i8[16,64]"},
    {"transposition", "f32[16,64]", "", "transpose(%x){permutation = [1,0]} : f32[64,16]"},
};
/// In front of the layer; the first is nothing.
constexpr const char* kProducers[] = {nullptr, "relu(%0)", "exp(%0)",
                                      "normalization(%0){norm = rms, axis = -1}",
                                      "normalization(%0){norm = layer, axis = -1}"};

struct Asked {
  std::unique_ptr<Graph> graph;
  std::optional<ConcreteGraph> concrete;
  Tensor weights;
  Problem problem;
};

std::optional<Asked> ask(const Layer& layer, const char* producer, int weight,
                         const Backend& backend) {
  std::string text = layer.text;
  text.replace(text.find("%x"), 2, producer == nullptr ? "%0" : "%5");
  const std::string ahead =
      producer == nullptr ? "" : fmt::format(" %5 \"ahead\" = {} : {}", producer, layer.x);
  auto graph =
      parse_graph(fmt::format("graph \"\" (%0 \"x\": {}{}) {{{} %9 \"y{}\" = {} return %9}}",
                              layer.x, layer.constants, ahead, weight, text));
  EXPECT_TRUE(graph.ok()) << layer.name << ": " << graph.error().message;
  if (!graph.ok() || !infer_graph(**graph).ok()) return std::nullopt;
  Asked asked{std::move(*graph), {}, {}, {}};
  auto concrete = ConcreteGraph::create(*asked.graph, {});
  EXPECT_TRUE(concrete.ok()) << layer.name;
  if (!concrete.ok()) return std::nullopt;
  asked.concrete.emplace(std::move(*concrete));
  asked.problem = asked.concrete->problem(*asked.graph->nodes().back(), backend, 2);
  if (asked.problem.inputs.size() > 1) {
    asked.weights = Tensor(DataType::kFloat32, asked.problem.input(1).extents);
    for (int64_t i = 0; i < asked.weights.count(); ++i)
      asked.weights.set_from_double(i, weight == 0 ? 1 : 0.25 * weight + 0.001 * double(i % 7));
  }
  return asked;
}

/// Everything that a choice of kernels may see of every tactic, as text.
std::string answers(const Problem& problem, const Backend& backend) {
  std::string text;
  for (const Tactic& tactic : backend.tactics) {
    if (!fits(tactic, problem)) continue;
    const std::vector<std::string> configs = tactic.configs(problem);
    text += fmt::format("{} [{}]", tactic.name, fmt::join(configs, "; "));
    for (const std::string& config : configs) {
      const auto kernel = create_kernel(tactic, problem, config);
      if (!kernel.ok()) {
        text += " fails";
        continue;
      }
      text += fmt::format(" workspace {} packed {}", (*kernel)->workspace_bytes(),
                          (*kernel)->packed().size());
      for (int i = 0; i < static_cast<int>(problem.inputs.size()); ++i)
        text += fmt::format(" {}{}{}", (*kernel)->uses_input(i), (*kernel)->packs_input(i),
                            (*kernel)->may_alias(i, 0));
    }
    text += "\n";
  }
  return text;
}

TEST(ProblemProperty, EqualKeysGetEqualAnswers) {
  const Backend backend = cpu_backend(2);
  std::map<std::string, std::string> answers_of;
  int equal = 0;
  for (const Layer& layer : kLayers)
    for (const char* producer : kProducers)
      for (int weight = 0; weight < 3; ++weight) {
        auto asked = ask(layer, producer, weight, backend);
        ASSERT_TRUE(asked.has_value());
        if (asked->weights.defined()) asked->problem.inputs[1].constant = &asked->weights;
        const std::string key = problem_key(asked->problem);
        const std::string found = answers(asked->problem, backend);
        EXPECT_NE(found, "") << layer.name;
        const auto [entry, is_new] = answers_of.try_emplace(key, found);
        equal += is_new ? 0 : 1;
        EXPECT_EQ(entry->second, found)
            << layer.name << " behind " << (producer == nullptr ? "nothing" : producer)
            << ", weights " << weight << ": " << key;
      }
  // A key that told all problems apart would be right and useless.
  EXPECT_GE(equal, 10 * std::ssize(kLayers)) << answers_of.size() << " keys";
}

}  // namespace
}  // namespace tenon
