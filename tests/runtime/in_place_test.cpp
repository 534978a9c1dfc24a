// Outputs take the memory of images that are not read later; nothing is seen of it.
#include <gtest/gtest.h>

#include "graphs.h"

namespace tenon {
namespace {

constexpr int64_t kChannels = 64, kSize = 20, kImage = kChannels * kSize * kSize;
constexpr int kBlocks = 3;

Tensor numbers(Extents extents, int seed) {
  return tenon::numbers(std::move(extents), seed, 0.02);
}

Value* conv(Graph& graph, Value* x, int64_t window, int seed) {
  return tenon::conv(graph, x, numbers({kChannels, kChannels, window, window}, seed));
}

/// Residual blocks, whose sums may replace their operands; the graph's outputs are the last sum
/// and, with `all`, every other one too, which then nothing may be written over.
std::unique_ptr<Graph> residual_graph(bool all, int64_t window) {
  auto graph = std::make_unique<Graph>();
  Value* x =
      graph->add_input("x", {DataType::kFloat32, {Dim(1), Dim(kChannels), Dim(kSize), Dim(kSize)}});
  Value* image = function(*graph, PointwiseFunction::k_relu, {conv(*graph, x, 1, 1)});
  for (int i = 0; i < kBlocks; ++i) {
    if (all) graph->add_output(image), image->name = "kept" + std::to_string(i);
    Value* inner = function(*graph, PointwiseFunction::k_relu, {conv(*graph, image, 1, 2 + i)});
    Value* sum =
        function(*graph, PointwiseFunction::k_add, {conv(*graph, inner, window, 5), image});
    image = function(*graph, PointwiseFunction::k_relu, {sum});
  }
  Value* last = conv(*graph, image, 1, 9);
  last->name = "y";
  graph->add_output(last);
  return graph;
}

struct Outcome {
  Tensor y;
  size_t arena_bytes;
};

Result<Outcome> run(bool all, int64_t window) {
  TENON_ASSIGN(auto engine, engine_of(residual_graph(all, window)));
  TENON_ASSIGN(auto context, Context::create(std::move(engine), 2));
  Tensor x = numbers({1, kChannels, kSize, kSize}, 7);
  Tensor y(DataType::kFloat32, {1, kChannels, kSize, kSize});
  std::vector<Tensor> kept(kBlocks, y);
  TENON_TRY(context->set_address("x", x.mutable_bytes()));
  TENON_TRY(context->set_address("y", y.mutable_bytes()));
  for (int i = 0; all && i < kBlocks; ++i)
    TENON_TRY(context->set_address("kept" + std::to_string(i), kept[i].mutable_bytes()));
  for (int i = 0; i < 2; ++i) TENON_TRY(context->enqueue(nullptr));
  TENON_ASSIGN(const size_t bytes, context->needed_arena());
  return Outcome{std::move(y), bytes};
}

TEST(InPlace, GivesWhatSeparateMemoryGives) {
  for (const int64_t window : {1, 3}) {
    const auto shared = run(false, window), apart = run(true, window);
    ASSERT_TRUE(shared.ok()) << shared.error().message;
    ASSERT_TRUE(apart.ok()) << apart.error().message;
    double size = 0;
    for (int64_t i = 0; i < kImage; ++i) {
      ASSERT_EQ(shared->y.as_double(i), apart->y.as_double(i)) << window << ": " << i;
      size += std::abs(shared->y.as_double(i));
    }
    EXPECT_GT(size, 0);
  }
}

TEST(InPlace, TakesTwoImagesForAChainOfBlocks) {
  const auto outcome = run(false, 1);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  // The sums and the values between, besides the products' own memory.
  EXPECT_LT(outcome->arena_bytes, size_t{3 * kImage * 4});
}

}  // namespace
}  // namespace tenon
