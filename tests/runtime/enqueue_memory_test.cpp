// Runs of shapes that were met before take no memory of the heap.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "../tolerances.h"
#include "graphs.h"

namespace {

std::atomic<int64_t> allocations = 0;

void* counted(size_t bytes) {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* counted(size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto multiple = static_cast<size_t>(alignment);
  return std::aligned_alloc(multiple, (bytes + multiple) / multiple * multiple);
}

}  // namespace

// All that this program allocates, on whatever thread. Inlined, GCC takes them for a mismatch.
// Forms that are missing here would be the address sanitizer's, whose memory free() must not get.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = counted(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  if (void* memory = counted(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  return counted(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace tenon {
namespace {

constexpr int kRuns = 3;

/// Allocations of later enqueues of a context, its tensors being there.
int64_t allocations_of_runs(Context& context) {
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(context.enqueue().ok());
  const int64_t before = allocations;
  for (int i = 0; i < kRuns; ++i) {
    const Status status = context.enqueue();
    if (!status.ok()) ADD_FAILURE() << status.error().message;
  }
  return allocations - before;
}

/// The same for a graph whose inputs take these contents.
void expect_none(const std::string& text, std::vector<Tensor> inputs) {
  const auto graph = named_graph(text);
  const auto expected = evaluate_graph(*graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto engine = engine_of(graph->clone());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 2);
  ASSERT_TRUE(context.ok());
  for (size_t i = 0; i < inputs.size(); ++i)
    ASSERT_TRUE((*context)
                    ->set_address((*engine)->graph().inputs()[i]->name, inputs[i].mutable_bytes())
                    .ok());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < expected->size(); ++i) {
    outputs.emplace_back((*expected)[i].type(), (*expected)[i].extents());
    ASSERT_TRUE(
        (*context)
            ->set_address((*engine)->graph().outputs()[i]->name, outputs.back().mutable_bytes())
            .ok());
  }
  EXPECT_EQ(allocations_of_runs(**context), 0);
  for (int64_t k = 0; k < outputs[0].count(); ++k)
    EXPECT_NEAR(outputs[0].as_double(k), (*expected)[0].as_double(k), test::kNear) << k;
}

TEST(EnqueueMemory, AllocationsAreCounted) {
  const int64_t before = allocations;
  const auto memory = std::make_unique<std::array<int, 100>>();
  EXPECT_GT(allocations, before);
}

TEST(EnqueueMemory, ProductsAndRowsTakeNone) {
  expect_none(R"((%0: f32[6,32]) {
  %1 = matmul "product"(%0, %0) {transpose_b = true} : f32[6,6]
  %2 = softmax "softmax"(%1) {axes = [1]} : f32[6,6]
  %3 = tanh "tanh"(%2) : f32[6,6]
  return %3
})",
              {numbers({6, 32}, 1, 0.1)});
}

TEST(EnqueueMemory, ShapesThatWereMetTakeNone) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim::symbol("rows"), Dim(32)}});
  Value* w = graph->add_constant(numbers({32, 32}, 3, 0.1), "w");
  Value* y = graph->add_node(std::make_unique<MatMul>(), {x, w})->output();
  y->name = "y";
  graph->add_output(y);
  const auto engine = engine_of(std::move(graph), {{{"x", {{1, 32}, {8, 32}, {64, 32}}}}});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 2);
  ASSERT_TRUE(context.ok());
  Tensor in = numbers({64, 32}, 1, 0.1), out(DataType::kFloat32, {64, 32});
  ASSERT_TRUE((*context)->set_address("x", in.mutable_bytes()).ok());
  ASSERT_TRUE((*context)->set_address("y", out.mutable_bytes()).ok());
  const Extents shapes[] = {{64, 32}, {3, 32}, {17, 32}, {8, 32}};
  for (int turn = 0; turn < 3; ++turn)
    for (const Extents& shape : shapes) {
      ASSERT_TRUE((*context)->set_input_shape("x", shape).ok());
      const int64_t before = allocations;
      ASSERT_TRUE((*context)->enqueue().ok());
      const int64_t taken = allocations - before;
      if (turn == 0) continue;
      EXPECT_EQ(taken, 0) << shape[0] << " rows";
    }
}

/// Allocations of a shape that is new, within a chain of so many products, by the number of
/// products.
int64_t allocations_of_new_shape(int products) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim::symbol("rows"), Dim(32)}});
  Value* y = x;
  for (int i = 0; i < products; ++i) {
    Value* w = graph->add_constant(numbers({32, 32}, i, 0.1));
    y = graph->add_node(std::make_unique<MatMul>(), {y, w})->output();
    auto softmax = std::make_unique<Softmax>();
    softmax->axes = {1};
    y = graph->add_node(std::move(softmax), {y})->output();
  }
  y->name = "y";
  graph->add_output(y);
  const auto engine = engine_of(std::move(graph), {{{"x", {{1, 32}, {8, 32}, {64, 32}}}}});
  EXPECT_TRUE(engine.ok());
  const auto context = Context::create(*engine, 1);
  Tensor in = numbers({64, 32}, 1, 0.1), out(DataType::kFloat32, {64, 32});
  EXPECT_TRUE((*context)->set_address("x", in.mutable_bytes()).ok());
  EXPECT_TRUE((*context)->set_address("y", out.mutable_bytes()).ok());
  int64_t most = 0;
  for (const int64_t rows : {64, 48, 47, 33, 7}) {
    EXPECT_TRUE((*context)->set_input_shape("x", {rows, 32}).ok());
    const int64_t before = allocations;
    EXPECT_TRUE((*context)->enqueue().ok());
    if (rows < 48) most = std::max(most, allocations - before);
  }
  return most;
}

TEST(EnqueueMemory, NewShapesTakeSomeForEachStepAlone) {
  const int64_t few = allocations_of_new_shape(4), many = allocations_of_new_shape(20);
  // Each product brings a product, a softmax and their buffers.
  constexpr int64_t kMostOfTwoSteps = 36, kMostBeside = 60;
  EXPECT_LT(many - few, 16 * kMostOfTwoSteps) << few << " and " << many;
  EXPECT_LT(few, 4 * kMostOfTwoSteps + kMostBeside);
}

TEST(EnqueueMemory, LoopsTakeNone) {
  expect_none(R"((%0: i64[], %1: f32[1,4]) {
  %2 = constant() {value = bool[]{1}} : bool[]
  %3 = constant() {value = f32[4,4]{1,2,0,1,0,1,2,1,1,0,0,3,2,1,1,1}} : f32[4,4]
  %4 = loop "loop"(%0, _, %1, %3, %2) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[1,4], %3: f32[4,4], %4: bool[]) {
      %5 = matmul "product"(%2, %3) : f32[1,4]
      %6 = tanh "tanh"(%5) : f32[1,4]
      return %4, %6
    } : f32[1,4]
  return %4
})",
              {Tensor::scalar_i64(5), numbers({1, 4}, 1, 0.1)});
}

TEST(EnqueueMemory, ScansTakeNone) {
  expect_none(R"((%0: f32[3], %1: f32[1100,3]) {
  %2, %3 = scan "scan"(%0, %1) {states = 1, scanned = 1} graph "body" (%0: f32[3], %1: f32[3]) {
      %2 = constant() {value = f32[]{0.5}} : f32[]
      %3 = mul "half"(%0, %2) : f32[3]
      %4 = add "sum"(%3, %1) : f32[3]
      return %4, %4
    } : f32[3], f32[1100,3]
  return %2, %3
})",
              {numbers({3}, 1, 1), numbers({1100, 3}, 2, 0.1)});
}

TEST(EnqueueMemory, BranchesTakeNone) {
  Tensor yes(DataType::kBool, {});
  yes.set_from_int64(0, 1);
  expect_none(R"((%0: bool[], %1: f32[8]) {
  %2 = if "if"(%0, %1) graph "then" (%0: f32[8]) {
      %1 = tanh(%0) : f32[8]
      return %1
    } graph "else" (%0: f32[8]) {
      %1 = relu(%0) : f32[8]
      return %1
    } : f32[8]
  return %2
})",
              {yes, numbers({8}, 1, 0.1)});
}

}  // namespace
}  // namespace tenon
