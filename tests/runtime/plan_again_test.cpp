// A plan that was read, whatever its file is, is written and read again as the same.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ops/ops.h"
#include "ops/table.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"
#include "plan/plan_generated.h"

namespace tenon {
namespace {

std::unique_ptr<Graph> copying_body() {
  auto body = std::make_unique<Graph>();
  body->name = "body";
  Value* x = body->add_input("x", {DataType::kFloat32, {4}});
  body->add_output(body->add_node(std::make_unique<Identity>(), {x})->output());
  return body;
}

/// A branch ahead of the places of numbers other than 0, whose number is a symbol.
Plan branch_plan() {
  Plan plan;
  plan.device = DeviceKind::kCpu;
  plan.graph = std::make_unique<Graph>();
  Graph& graph = *plan.graph;
  Value* x = graph.add_input("x", {DataType::kFloat32, {4}});
  Value* condition = graph.add_input("c", {DataType::kBool, {}});
  Value* sizes = graph.add_input("s", {DataType::kInt64, {1}});
  Node* branch = graph.add_node(std::make_unique<If>(), {condition, x});
  branch->bodies.push_back(copying_body());
  branch->bodies.push_back(copying_body());
  graph.add_output(branch->output());
  graph.add_output(graph.add_node(std::make_unique<NonZero>(), {branch->output()})->output());
  graph.add_output(graph.add_node(std::make_unique<Identity>(), {sizes})->output());
  EXPECT_TRUE(infer_graph(graph).ok());
  plan.profiles = {{{"x", {{4}, {4}, {4}}}, {"c", {{}, {}, {}}}, {"s", {{1}, {1}, {1}}}}};
  return plan;
}

/// The file written of the plan that is read from this one.
LargeBytes again(const LargeBytes& file) {
  const auto plan = read_plan(file, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  if (!plan.ok()) return {};
  auto bytes = write_plan(*plan);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? std::move(bytes).value() : LargeBytes();
}

void expect_same_again(const Plan& plan) {
  const auto file = write_plan(plan);
  ASSERT_TRUE(file.ok());
  const LargeBytes first = again(*file);
  EXPECT_EQ(first, again(first));
}

TEST(PlanAgain, RangesThatAFileLeavesOut) {
  const Plan plan = branch_plan();
  ASSERT_FALSE(plan.graph->symbol_ranges.empty());
  plan.graph->symbol_ranges.clear();
  expect_same_again(plan);
}

TEST(PlanAgain, RangesOfContentsThatDecideShapes) {
  Plan plan = branch_plan();
  ShapeRange& range = plan.profiles[0].at("s");
  range.min_values = {1};
  range.opt_values = {2};
  range.max_values = {4};
  expect_same_again(plan);
}

/// A file with that description and no weights.
LargeBytes file_of(const flatbuffers::FlatBufferBuilder& builder) {
  const size_t size = (builder.GetSize() + 2 * kPlanPage - 1) / kPlanPage * kPlanPage;
  LargeBytes file(size);
  std::memset(file.data(), 0, size);
  std::memcpy(file.data() + kPlanPage, builder.GetBufferPointer(), builder.GetSize());
  PlanHeader header{kPlanMagic, 0, size, builder.GetSize(), {}, kPlanFormat, size, {0, 0}};
  std::memcpy(file.data(), &header, sizeof header);
  header.checksum = plan_checksum(file);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

/// Some hundred bytes that stand for 2 to the power of 16 graphs.
TEST(PlanAgain, GraphsThatAreNamedOverAndOverAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  flatbuffers::Offset<fb::Graph> graph = fb::CreateGraph(builder);
  for (int depth = 0; depth < 16; ++depth) {
    const auto bodies = builder.CreateVector(std::vector{graph, graph});
    const auto op = builder.CreateString("if");
    const auto node = fb::CreateNode(builder, op, 0, 0, 0, 0, 0, bodies);
    graph = fb::CreateGraph(builder, 0, 0, 0, 0, 0, builder.CreateVector(std::vector{node}));
  }
  fb::PlanBuilder plan(builder);
  plan.add_graph(graph);
  builder.Finish(plan.Finish());
  const auto read = read_plan(file_of(builder), nullptr);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("its description is malformed"), std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace tenon
