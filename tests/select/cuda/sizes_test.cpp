// Operators have a kernel on the GPU whatever their sizes: no limit on batches, rows, lengths or
// numbers of elements leaves one to the host. Nothing is computed: planners are asked.
#include <gtest/gtest.h>

#include "device/described_device.h"
#include "gpu_of.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"
#include "select/fit_regions.h"

namespace tenon {
namespace {

/// Graphs with N, M for sizes; the last node is the one that is asked for.
struct Case {
  const char* name;
  const char* text;
};
constexpr Case kCases[] = {
    {"softmax of rows", "(%0: f16[N,M]) {\n  %1 = softmax(%0) {axes = [1]}\n  return %1\n}"},
    {"softmax of columns", "(%0: f16[N,M]) {\n  %1 = softmax(%0) {axes = [0]}\n  return %1\n}"},
    {"layer normalization",
     "(%0: f16[N,M]) {\n  %1 = normalization(%0) {norm = layer}\n  return %1\n}"},
    {"instance normalization",
     "(%0: f16[N,32,M,1]) {\n  %1 = normalization(%0) {norm = instance}\n  return %1\n}"},
    {"group normalization, channels last",
     "(%0: f16[N,64,M,1]@nhwc) {\n  %1 = normalization(%0) {norm = group, groups = 32} : "
     "f16[N,64,M,1]@nhwc\n  return %1\n}"},
    {"instance normalization of many channels, channels last",
     "(%0: f16[2,M,N,1]@nhwc) {\n  %1 = normalization(%0) {norm = instance} : "
     "f16[2,M,N,1]@nhwc\n  return %1\n}"},
    {"sum of rows", "(%0: f32[N,M]) {\n  %1 = reduce(%0) {axes = [1]}\n  return %1\n}"},
    {"sum of columns", "(%0: f32[N,M]) {\n  %1 = reduce(%0) {axes = [0]}\n  return %1\n}"},
    {"products of many rows",
     "(%0: f32[N,8], %1: f32[8,M]) {\n  %2 = matmul(%0, %1)\n  return %2\n}"},
    {"products of many halves",
     "(%0: f16[N,8], %1: f16[8,M]) {\n  %2 = matmul(%0, %1)\n  return %2\n}"},
    {"deep products", "(%0: f32[3,N], %1: f32[N,M]) {\n  %2 = matmul(%0, %1)\n  return %2\n}"},
    {"batches of products",
     "(%0: f32[N,5,M], %1: f32[N,M,3]) {\n  %2 = matmul(%0, %1)\n  return %2\n}"},
    {"transpose",
     "(%0: f32[N,3,M]) {\n  %1 = transpose(%0) {permutation = [2,1,0]}\n  return %1\n}"},
    {"concat", "(%0: f16[N,M], %1: f16[N,M]) {\n  %2 = concat(%0, %1) {axis = 1}\n  return %2\n}"},
    {"gather", "(%0: f32[M,4], %1: i64[N]) {\n  %2 = gather(%0, %1) {axis = 0}\n  return %2\n}"},
    {"relu", "(%0: f32[N,M]) {\n  %1 = relu(%0)\n  return %1\n}"},
    {"pooling",
     "(%0: f16[N,8,M,2]) {\n  %1 = pool(%0) {function = max, kernel = [1,2], strides = [1,2]}\n  "
     "return %1\n}"},
    {"attention",
     "(%0: f16[N,2,5,8], %1: f16[N,2,M,8]) {\n  %2 = attention(%0, %1, %1)\n  return %2\n}"},
};

constexpr int64_t kSizes[][2] = {{1, 1},       {4, 40960},      {70000, 3},      {3, 70000},
                                 {1, 5000000}, {5000000, 1},    {5000000, 2},    {70000, 70000},
                                 {4, 4096},    {300000000, 16}, {16, 300000000}, {4, 3100}};

std::string with_sizes(std::string text, const int64_t (&sizes)[2]) {
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] == 'N' || text[i] == 'M') && (text[i - 1] == '[' || text[i - 1] == ','))
      text.replace(i, 1, std::to_string(sizes[text[i] == 'N' ? 0 : 1]));
  // A type for the parser; inference finds the right one.
  const size_t end = text.find("\n  return");
  if (text.find(" : ") == std::string::npos) text.insert(end, " : f16[1]");
  return text;
}

TEST(Sizes, OperatorsHaveKernelsWhateverTheyAre) {
  for (const int capability : {75, 90})
    for (const Case& item : kCases)
      for (const auto& sizes : kSizes) {
        const std::string text = "graph \"\" " + with_sizes(item.text, sizes);
        auto graph = parse_graph(text);
        ASSERT_TRUE(graph.ok()) << text << graph.error().message;
        ASSERT_TRUE(infer_graph(**graph).ok()) << text;
        const Backend backend{std::make_shared<DescribedDevice>(gpu_of(capability)),
                              cuda_tactics()};
        const auto concrete = ConcreteGraph::create(**graph, {});
        ASSERT_TRUE(concrete.ok()) << concrete.error().message;
        const Problem problem = concrete->problem(*(*graph)->nodes().back(), backend, 1);
        std::string reasons;
        for (const Tactic& tactic : cuda_tactics())
          reasons += fmt::format("\n  {}: {}", tactic.name, tactic.supports(problem).reason);
        EXPECT_TRUE(has_kernel(backend, problem))
            << item.name << " on sm_" << capability << ": " << text << reasons;
      }
}

}  // namespace
}  // namespace tenon
