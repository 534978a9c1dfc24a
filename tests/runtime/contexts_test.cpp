// Contexts of one engine are independent: each thread has its own, all at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "graphs.h"
#include "ops/table.h"

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

/// relu(x * w) over [rows, 32].
Value* relu_of_product(Graph& graph) {
  graph.symbol_ranges.emplace("rows", Range{1, kMostRows});
  Value* x = graph.add_input("x", {DataType::kFloat32, {Dim::symbol("rows"), Dim(kWidth)}});
  Value* w = graph.add_constant(numbers({kWidth, kWidth}, 0.1), "w");
  Node* product = graph.add_node(std::make_unique<MatMul>(), {x, w}, 1, "product");
  return graph
      .add_node(std::make_unique<Pointwise>(PointwiseFunction::k_relu), {product->output()}, 1,
                "relu")
      ->output();
}

/// softmax(relu(x * w)).
std::unique_ptr<Graph> small_graph() {
  auto graph = std::make_unique<Graph>();
  Value* relu = relu_of_product(*graph);
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Node* last = graph->add_node(std::move(softmax), {relu}, 1, "softmax");
  last->output()->name = "y";
  graph->add_output(last->output());
  return graph;
}

/// The sums of the places where relu(x * w) is not zero: how many there are shows while it runs.
std::unique_ptr<Graph> data_dependent_graph() {
  auto graph = std::make_unique<Graph>();
  Value* relu = relu_of_product(*graph);
  Node* places = graph->add_node(std::make_unique<NonZero>(), {relu}, 1, "places");
  auto cast = std::make_unique<Cast>();
  cast->to = DataType::kFloat32;
  Node* floats = graph->add_node(std::move(cast), {places->output()}, 1, "floats");
  auto sum = std::make_unique<Reduce>();
  sum->function = ReduceFunction::kSum;
  sum->axes = {1};
  Node* last = graph->add_node(std::move(sum), {floats->output()}, 1, "sum");
  last->output()->name = "y";
  graph->add_output(last->output());
  return graph;
}

Result<std::shared_ptr<Engine>> rows_engine(std::unique_ptr<Graph> graph) {
  return engine_of(std::move(graph), {{{"x", {{1, kWidth}, {2, kWidth}, {kMostRows, kWidth}}}}});
}

Result<std::shared_ptr<Engine>> small_engine() {
  return rows_engine(small_graph());
}

Result<Tensor> run(Context& context, const Tensor& x, Extents result = {}) {
  TENON_TRY(context.set_input_shape("x", x.extents()));
  TENON_TRY(context.set_address("x", const_cast<std::byte*>(x.bytes())));
  Tensor y(DataType::kFloat32, result.empty() ? x.extents() : std::move(result));
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

TEST(Contexts, DataDependentShapesDoNotNeedWeightsThatWerePacked) {
  const auto engine = rows_engine(data_dependent_graph());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 2);
  ASSERT_TRUE(context.ok()) << context.error().message;
  const Tensor x = numbers({3, kWidth}, 0.3), w = numbers({kWidth, kWidth}, 0.1);
  double rows = 0, columns = 0;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < kWidth; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kWidth; ++k)
        sum += x.as_double(i * kWidth + k) * w.as_double(k * kWidth + j);
      ASSERT_GT(std::abs(sum), 1e-4) << "too near zero to tell its sign";
      rows += sum > 0 ? static_cast<double>(i) : 0;
      columns += sum > 0 ? static_cast<double>(j) : 0;
    }
  const auto y = run(**context, x, {2, 1});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ(y->as_double(0), rows);
  EXPECT_EQ(y->as_double(1), columns);
}

TEST(Contexts, ShapesThatDataDecidesStayUnknownBehindARun) {
  auto graph = std::make_unique<Graph>();
  Node* places = graph->add_node(std::make_unique<NonZero>(), {relu_of_product(*graph)}, 1, "y");
  places->output()->name = "y";
  graph->add_output(places->output());
  const auto engine = rows_engine(std::move(graph));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 1);
  ASSERT_TRUE(context.ok()) << context.error().message;
  const auto extents = [&] { return (*context)->shape("y").value(); };
  ASSERT_TRUE(run(**context, numbers({3, kWidth}, 0.3), {2, 3 * kWidth * 2}).ok());
  EXPECT_EQ(extents(), (Extents{2, -1})) << "the last run says nothing of the next";
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
