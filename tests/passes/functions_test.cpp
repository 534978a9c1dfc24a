// Every scalar function joins others in one region, and those of reals the convolution before them;
// regions have a limit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/ops.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace tenon {
namespace {

DataType operand_type(PointwiseClass category) {
  return category == PointwiseClass::logical   ? DataType::kBool
         : category == PointwiseClass::bitwise ? DataType::kInt32
                                               : DataType::kFloat32;
}

Value* apply(Graph& graph, std::unique_ptr<Op> op, std::vector<Value*> inputs, std::string name) {
  Node* node = graph.add_node(std::move(op), std::move(inputs), 1, std::move(name));
  EXPECT_TRUE(infer_node(*node).ok());
  return node->output();
}

/// f(x, further operands); a choice takes its condition first.
Value* apply_function(Graph& graph, PointwiseFunction function, Value* x) {
  const PointwiseInfo& info = pointwise_info(function);
  std::vector<Value*> inputs = {x};
  while (static_cast<int>(inputs.size()) < info.arity)
    inputs.push_back(graph.add_input(fmt::format("y{}", inputs.size()), x->type));
  if (info.category == PointwiseClass::choose)
    inputs.insert(inputs.begin(), graph.add_input("c", {DataType::kBool, x->type.shape}));
  inputs.resize(static_cast<size_t>(info.arity));
  return apply(graph, std::make_unique<Pointwise>(function, 0.5, 1.5), inputs,
               std::string(info.name));
}

std::vector<const Node*> nodes_after(Graph& graph, const char* pass) {
  NullLogger logger;
  const PassOptions options;
  PassContext context(options, logger);
  EXPECT_TRUE(run_pass(graph, *find_pass(pass), context).ok());
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes())
    if (!node->is<Constant>()) nodes.push_back(node.get());
  return nodes;
}

TEST(Functions, EveryOneJoinsItsLike) {
  for (int i = 0; i < pointwise_count(); ++i) {
    const auto function = static_cast<PointwiseFunction>(i);
    SCOPED_TRACE(pointwise_info(function).name);
    Graph graph;
    Value* x = graph.add_input("x", {operand_type(pointwise_info(function).category), {2, 3}});
    Value* once = apply_function(graph, function, x);
    auto cast = std::make_unique<Cast>();
    cast->to = DataType::kInt32;
    graph.add_output(apply(graph, std::move(cast), {once}, "cast"));
    const auto nodes = nodes_after(graph, "fuse_pointwise");
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_TRUE(nodes[0]->is<Fused>());
  }
}

TEST(Functions, EveryOneOfRealsJoinsTheConvolution) {
  for (int i = 0; i < pointwise_count(); ++i) {
    const auto function = static_cast<PointwiseFunction>(i);
    const PointwiseInfo& info = pointwise_info(function);
    SCOPED_TRACE(info.name);
    if (info.arity > 2) continue;
    if (info.category != PointwiseClass::arithmetic && info.category != PointwiseClass::real)
      continue;
    Graph graph;
    Value* x = graph.add_input("x", {DataType::kFloat32, {1, 2, 4, 4}});
    Value* w = graph.add_input("w", {DataType::kFloat32, {2, 2, 1, 1}});
    Value* image = apply(graph, std::make_unique<Conv>(), {x, w}, "conv");
    graph.add_output(apply_function(graph, function, image));
    const auto nodes = nodes_after(graph, "fuse_epilogue");
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0]->name, fmt::format("conv + {}", info.name));
  }
}

TEST(Functions, RegionsHaveALimit) {
  Graph graph;
  Value* x = graph.add_input("x", {DataType::kFloat32, {2, 3}});
  constexpr size_t kFunctions = 100;
  for (size_t i = 0; i < kFunctions; ++i)
    x = apply(graph, std::make_unique<Pointwise>(PointwiseFunction::k_tanh), {x},
              fmt::format("t{}", i));
  graph.add_output(x);
  size_t total = 0;
  const auto nodes = nodes_after(graph, "fuse_pointwise");
  for (const Node* node : nodes) {
    const size_t size = node->is<Fused>() ? node->bodies[0]->nodes().size() : 1;
    EXPECT_LE(size, 24u);
    total += size;
  }
  EXPECT_EQ(total, kFunctions);
  EXPECT_GT(nodes.size(), 1u);
}

}  // namespace
}  // namespace tenon
