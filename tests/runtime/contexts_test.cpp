// Contexts of one engine are independent: each thread has its own, all at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ops/ops.h"
#include "ops/table.h"
#include "plan/plan_file.h"
#include "runtime/engine.h"
#include "select/compile.h"

namespace tenon {
namespace {

constexpr int64_t kWidth = 32, kMostRows = 6;
constexpr int kThreads = 4, kRuns = 40;

Tensor numbers(Extents extents, double scale) {
  Tensor tensor(DataType::kFloat32, std::move(extents));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, scale * static_cast<double>(i % 7 - 3));
  return tensor;
}

/// softmax(relu(x * w)) over [rows, 32].
std::unique_ptr<Graph> small_graph() {
  auto graph = std::make_unique<Graph>();
  graph->symbol_ranges.emplace("rows", Range{1, kMostRows});
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim::symbol("rows"), Dim(kWidth)}});
  Value* w = graph->add_constant(numbers({kWidth, kWidth}, 0.1), "w");
  Node* product = graph->add_node(std::make_unique<MatMul>(), {x, w}, 1, "product");
  Node* relu = graph->add_node(std::make_unique<Pointwise>(PointwiseFunction::k_relu),
                               {product->output()}, 1, "relu");
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Node* last = graph->add_node(std::move(softmax), {relu->output()}, 1, "softmax");
  last->output()->name = "y";
  graph->add_output(last->output());
  return graph;
}

Result<std::shared_ptr<Engine>> small_engine() {
  CompileRequest request;
  request.graph = small_graph();
  request.profiles = {{{"x", {{1, kWidth}, {2, kWidth}, {kMostRows, kWidth}}}}};
  request.backend = cpu_backend(2);
  request.select.threads = 2;
  request.select.level = 0;
  TimingCache cache;
  NullLogger logger;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), cache, logger));
  TENON_ASSIGN(const std::vector<std::byte> bytes, write_plan(plan));
  TENON_ASSIGN(Plan loaded, read_plan(bytes, nullptr));
  return Engine::create(std::move(loaded), cpu_backend(2));
}

Result<Tensor> run(Context& context, const Tensor& x) {
  TENON_TRY(context.set_input_shape("x", x.extents()));
  TENON_TRY(context.set_address("x", const_cast<std::byte*>(x.bytes())));
  Tensor y(DataType::kFloat32, x.extents());
  TENON_TRY(context.set_address("y", y.mutable_bytes()));
  TENON_TRY(context.enqueue());
  return y;
}

TEST(Contexts, RunAtTheSameTime) {
  const auto engine = small_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  std::vector<Tensor> inputs, expected;
  const auto reference = Context::create(*engine, 1);
  ASSERT_TRUE(reference.ok());
  for (int64_t rows = 1; rows <= kMostRows; ++rows) {
    inputs.push_back(numbers({rows, kWidth}, 0.3));
    const auto result = run(**reference, inputs.back());
    ASSERT_TRUE(result.ok()) << result.error().message;
    expected.push_back(*result);
  }
  std::atomic<int> wrong = 0;
  auto work = [&](int thread) {
    const auto context = Context::create(*engine, 2);
    for (int i = 0; context.ok() && i < kRuns; ++i) {
      const size_t which = static_cast<size_t>(i + thread) % inputs.size();
      const auto result = run(**context, inputs[which]);
      if (!result.ok() || !(*result == expected[which])) ++wrong;
    }
    if (!context.ok()) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Contexts, ShapesOutsideTheProfileAreRefused) {
  const auto engine = small_engine();
  ASSERT_TRUE(engine.ok());
  const auto context = Context::create(*engine, 1);
  ASSERT_TRUE(context.ok());
  const Status status = (*context)->set_input_shape("x", {kMostRows + 1, kWidth});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("'x'"), std::string::npos) << status.error().message;
  EXPECT_FALSE((*context)->set_input_shape("x", {1}).ok());
  EXPECT_FALSE((*context)->set_input_shape("z", {1}).ok());
  EXPECT_FALSE((*context)->enqueue().ok()) << "no shape was set";
}

}  // namespace
}  // namespace tenon
