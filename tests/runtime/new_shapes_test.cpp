// Contexts whose shapes change with every run: programs that were met are used again, memory does
// not grow, and threads with a context each do not wait for each other's shapes.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "graphs.h"

namespace tenon {
namespace {

constexpr int64_t kWidth = 8, kMostRows = 1000;

/// softmax(x * w) of any number of rows.
Result<std::shared_ptr<Engine>> rows_engine() {
  auto graph = std::make_unique<Graph>();
  graph->symbol_ranges.emplace("rows", Range{1, kMostRows});
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim::symbol("rows"), Dim(kWidth)}});
  Value* w = graph->add_constant(numbers({kWidth, kWidth}, 3, 0.1), "w");
  Value* product = graph->add_node(std::make_unique<MatMul>(), {x, w})->output();
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Value* y = graph->add_node(std::move(softmax), {product})->output();
  y->name = "y";
  graph->add_output(y);
  return engine_of(std::move(graph), {{{"x", {{1, kWidth}, {8, kWidth}, {kMostRows, kWidth}}}}});
}

/// A context with room for the largest shape.
struct Rows {
  explicit Rows(const std::shared_ptr<Engine>& engine) {
    auto made = Context::create(engine, 1);
    if (!made.ok()) return;
    context = std::move(made).value();
    static_cast<void>(context->set_address("x", x.mutable_bytes()).ok());
    static_cast<void>(context->set_address("y", y.mutable_bytes()).ok());
  }
  bool run(int64_t rows) const {
    return context != nullptr && context->set_input_shape("x", {rows, kWidth}).ok() &&
           context->enqueue().ok();
  }
  std::unique_ptr<Context> context;
  Tensor x = numbers({kMostRows, kWidth}, 1, 0.1);
  Tensor y = Tensor(DataType::kFloat32, {kMostRows, kWidth});
};

size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(NewShapes, ProgramsOfShapesThatWereMetAreUsedAgain) {
  const auto engine = rows_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Rows rows(*engine);
  std::vector<const Program*> programs;
  for (int64_t count = 1; count <= 40; ++count) {
    ASSERT_TRUE(rows.run(count));
    programs.push_back(rows.context->program());
  }
  for (int64_t count = 1; count <= 40; ++count) {
    ASSERT_TRUE(rows.run(count));
    EXPECT_EQ(rows.context->program(), programs[count - 1]) << count;
  }
}

int descriptions = 0;

/// Of a product, as of its row, counted.
Support describe_product(const Problem& problem) {
  ++descriptions;
  return std::ranges::find(cpu_tactics(), "cpu.gemm.packed", &Tactic::name)->takes(problem);
}

TEST(NewShapes, AreLoweredOnceAndTheirKernelsDescribedOnce) {
  const auto built = rows_engine();
  ASSERT_TRUE(built.ok()) << built.error().message;
  std::vector<Tactic> rows(cpu_tactics().begin(), cpu_tactics().end());
  std::ranges::find(rows, "cpu.gemm.packed", &Tactic::name)->takes = describe_product;
  Backend backend = cpu_backend(2);
  backend.rows = std::make_shared<const std::vector<Tactic>>(std::move(rows));
  backend.tactics = *backend.rows;
  const auto engine = Engine::create(copy_of((*built)->plan()), backend);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  // The first one is not the largest.
  const auto first = (*engine)->program({{"rows", 100}}, 1);
  ASSERT_TRUE(first.ok()) << first.error().message;
  for (const int64_t count : {8, 99, 101, 517, 1000, 3}) {
    const auto program = (*engine)->program({{"rows", count}}, 1);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE((*program)->shares_list_of(**first)) << count;
  }
  // create() has described them itself.
  EXPECT_EQ(descriptions, 0);
}

TEST(NewShapes, AThousandInTurnTakeNoMoreMemory) {
  const auto engine = rows_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Rows rows(*engine);
  const auto run_all = [&] {
    for (int64_t count = 1; count <= kMostRows; ++count) ASSERT_TRUE(rows.run(count));
  };
  // The same shapes twice, so that the programs that are kept at the end are the same ones.
  run_all();
  const size_t before = bytes_in_use();
  if (before == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  run_all();
  EXPECT_LT(bytes_in_use(), before + before / 50);
}

TEST(NewShapes, OfManyContextsAtATimeGiveTheRightResults) {
  const auto engine = rows_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Rows reference(*engine);
  ASSERT_TRUE(reference.run(kMostRows));
  constexpr int kThreads = 64, kTurns = 4;
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    const Rows rows(*engine);
    for (int turn = 0; turn < kTurns; ++turn) {
      const int64_t count = 1 + thread + turn % 2 * kThreads;
      const bool good =
          rows.run(count) && std::memcmp(rows.y.bytes(), reference.y.bytes(),
                                         static_cast<size_t>(count * kWidth) * sizeof(float)) == 0;
      if (!good) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenon
