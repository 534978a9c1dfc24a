// The lists of steps that programs run, by small networks: they read back, and those of dynamic
// shapes hold for other shapes.
#include "lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../runtime/graphs.h"
#include "lower/step_text.h"
#include "plan/memory_planner.h"

namespace tenon {
namespace {

constexpr int64_t kChannels = 8;

Dim batch() {
  return Dim::symbol("batch");
}

/// Two convolutions side by side of images of [batch, 8, size, size], joined, and the sum of them.
std::unique_ptr<Graph> image_graph(const Dim& count, int64_t size) {
  auto graph = std::make_unique<Graph>();
  if (!count.is_constant()) graph->symbol_ranges.emplace("batch", Range{1, 16});
  Value* x =
      graph->add_input("x", {DataType::kFloat32, {count, Dim(kChannels), Dim(size), Dim(size)}});
  Value* a = conv(*graph, x, numbers({kChannels, kChannels, 3, 3}, 1, 0.02));
  Value* b = conv(*graph, x, numbers({kChannels, kChannels, 1, 1}, 2, 0.02));
  auto concat = std::make_unique<Concat>();
  concat->axis = 1;
  Value* both = graph->add_node(std::move(concat), {a, b})->output();
  Value* last = conv(*graph, both, numbers({2 * kChannels, 2 * kChannels, 1, 1}, 3, 0.02));
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  last = graph->add_node(std::move(softmax), {last})->output();
  last->name = "y";
  graph->add_output(last);
  return graph;
}

Result<StepList> list_of(const std::shared_ptr<Engine>& engine, const SymbolValues& symbols) {
  TENON_ASSIGN(const auto program, engine->program(symbols, 2));
  return program->list();
}

void expect_round_trip(const StepList& list) {
  const auto read = parse_steps(print(list));
  ASSERT_TRUE(read.ok()) << read.error().message << "\n" << print(list);
  EXPECT_EQ(*read, list) << print(list);
}

/// Three of up to 16 rows of the input "x", and of the output `product`: the list of steps has open
/// extents, and reads these places.
void expect_places(std::unique_ptr<Graph> graph, Value* product,
                   std::initializer_list<const char*> places) {
  graph->add_output(product);
  product->name = "product";
  const auto engine = engine_of(std::move(graph), {{{"x", {{1, 8}, {4, 8}, {16, 8}}}}});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto list = list_of(*engine, {{"batch", 3}});
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_FALSE(list->is_fixed) << print(*list);
  for (const char* place : places)
    EXPECT_NE(print(*list).find(place), std::string::npos) << print(*list);
  expect_round_trip(*list);
}

TEST(Lower, FixedShapesGiveNumbers) {
  const auto engine = engine_of(image_graph(2, 12));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto list = list_of(*engine, {});
  ASSERT_TRUE(list.ok()) << list.error().message;
  expect_round_trip(*list);
  EXPECT_FALSE(list->is_fixed);
  EXPECT_TRUE(list->symbols.empty());
  for (const StepBuffer& buffer : list->buffers) EXPECT_TRUE(buffer.bytes.is_constant());
  EXPECT_GE(list->steps.size(), 3);
}

std::vector<Profile> batches() {
  const auto shape = [](int64_t batch) { return Extents{batch, kChannels, 12, 12}; };
  return {{{"x", {.min = shape(1), .opt = shape(4), .max = shape(16)}}}};
}

TEST(Lower, ListsOfDynamicShapesHoldForOtherShapes) {
  const auto engine = engine_of(image_graph(batch(), 12), batches());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto few = list_of(*engine, {{"batch", 3}}), many = list_of(*engine, {{"batch", 13}});
  ASSERT_TRUE(few.ok() && many.ok());
  expect_round_trip(*few);
  expect_round_trip(*many);
  EXPECT_FALSE(few->is_fixed) << print(*few);
  ASSERT_FALSE(few->buffers.empty());
  // The list that was made for 3, under the values of the one for 13.
  const auto moved = place_buffers(*few, many->symbols);
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  const auto bytes_in = [&](const StepBuffer& buffer) {
    return *buffer.bytes.evaluate(many->symbols);
  };
  for (size_t i = 0; i < few->buffers.size(); ++i) {
    const StepBuffer& buffer = few->buffers[i];
    const auto is_same = [&](const StepBuffer& other) {
      return other.node == buffer.node && other.output == buffer.output &&
             bytes_in(other) == bytes_in(buffer);
    };
    EXPECT_TRUE(std::ranges::any_of(many->buffers, is_same)) << print(*few) << print(*many);
    for (size_t j = 0; j < i; ++j) {
      const StepBuffer& other = few->buffers[j];
      if (buffer.first > other.last || other.first > buffer.last) continue;
      EXPECT_GE(moved->offsets[i], moved->offsets[j] + bytes_in(other)) << i << ", " << j;
    }
  }
  for (size_t i = 0; i < few->steps.size(); ++i)
    EXPECT_EQ(few->steps[i].kernel, many->steps[i].kernel);
}

TEST(Lower, SmallerShapesTakeTheOrderOfLargerOnes) {
  const auto engine = engine_of(image_graph(batch(), 12), batches());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto large = list_of(*engine, {{"batch", 16}});
  ASSERT_TRUE(large.ok()) << large.error().message;
  const auto one = list_of(*engine, {{"batch", 1}});
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one->buffers, large->buffers);
  for (const int64_t count : {1, 2, 3, 5, 15}) {
    const auto small = list_of(*engine, {{"batch", count}});
    ASSERT_TRUE(small.ok()) << small.error().message;
    EXPECT_EQ(small->symbols.at("batch"), count);
    expect_round_trip(*small);
  }
}

TEST(Lower, PartsOfRowsBeginAtExpressions) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {batch(), Dim(8)}});
  Value* w = graph->add_constant(numbers({8, 24}, 1, 0.1), "w");
  Value* product = graph->add_node(std::make_unique<MatMul>(), {x, w})->output();
  const auto vector = [&](int64_t number) {
    return graph->add_constant(Tensor::vector_i64(std::vector<int64_t>{number}));
  };
  std::vector<Value*> operands = {product, vector(8), vector(16), vector(1)};
  Value* part = graph->add_node(std::make_unique<Slice>(), std::move(operands))->output();
  Value* other = graph->add_constant(numbers({8, 8}, 2, 0.1), "other");
  Value* y = graph->add_node(std::make_unique<MatMul>(), {part, other})->output();
  y->name = "y";
  graph->add_output(y);
  expect_places(std::move(graph), product, {"[32]"});
}

TEST(Lower, PartsOfASplitBeginBehindThoseAheadOfThem) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {batch(), Dim(8)}});
  Value* w = graph->add_constant(numbers({8, 24}, 1, 0.1), "w");
  Value* product = graph->add_node(std::make_unique<MatMul>(), {x, w})->output();
  auto split = std::make_unique<Split>();
  split->axis = 1;
  Node* parts = graph->add_node(std::move(split), {product}, 3);
  for (int i = 0; i < 3; ++i) {
    Value* other = graph->add_constant(numbers({8, 8}, 2 + i, 0.1), fmt::format("w{}", i));
    Value* y = graph->add_node(std::make_unique<MatMul>(), {parts->output(i), other})->output();
    y->name = fmt::format("y{}", i);
    graph->add_output(y);
  }
  expect_places(std::move(graph), product, {"[32]", "[64]"});
}

TEST(Lower, ValuesThatAreCopiedToSeveralOutputsLastThroughAllCopies) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim(3), Dim(kChannels)}});
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Value* y = graph->add_node(std::move(softmax), {x})->output();
  const Node* parts = graph->add_node(std::make_unique<Split>(), {y}, 3);
  for (Value* part : parts->outputs()) {
    part->name = fmt::format("part{}", part->index());
    graph->add_output(part);
  }
  const auto engine = engine_of(std::move(graph));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto list = list_of(*engine, {});
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->steps.size(), 4) << print(*list);
}

TEST(Lower, GroupsOfSamplesAreInTheList) {
  // Images of all samples that caches do not hold.
  const auto engine = engine_of(image_graph(4, 256));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto list = list_of(*engine, {});
  ASSERT_TRUE(list.ok()) << list.error().message;
  expect_round_trip(*list);
  const auto grouped = [](const Step& step) {
    return step.samples == Dim(4) && !step.inputs.empty() && step.inputs[0].each != Dim(0);
  };
  EXPECT_EQ(std::ranges::count_if(list->steps, grouped), 3) << print(*list);
}

TEST(Lower, ArenasAreThoseOfThePlanner) {
  const auto engine = engine_of(image_graph(2, 12));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto program = (*engine)->program({}, 2);
  ASSERT_TRUE(program.ok());
  std::vector<Lifetime> lifetimes;
  for (const auto& buffer : (*program)->buffers())
    lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
  EXPECT_EQ((*program)->arena_bytes(), plan_memory(lifetimes).bytes);
}

}  // namespace
}  // namespace tenon
