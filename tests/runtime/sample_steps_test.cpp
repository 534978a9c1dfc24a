// Steps over large images run for one sample of a batch after the other; nothing is seen of it.
#include "runtime/sample_steps.h"

#include <gtest/gtest.h>

#include "../tolerances.h"
#include "graphs.h"
#include "list_numbers.h"
#include "lower/verify_steps.h"

namespace tenon {
namespace {

constexpr int64_t kChannels = 16, kSize = 96, kBatch = 8;

Tensor numbers(Extents extents, int seed) {
  return tenon::numbers(std::move(extents), seed, 0.05);
}

Value* conv(Graph& graph, Value* x, int64_t window, int seed) {
  return tenon::conv(graph, x, numbers({kChannels, kChannels, window, window}, seed));
}

/// Convolutions one after the other, a sum with an earlier one, an image and its means as outputs.
std::unique_ptr<Graph> image_graph() {
  auto graph = std::make_unique<Graph>();
  graph->symbol_ranges.emplace("n", Range{1, kBatch});
  Value* x = graph->add_input(
      "x", {DataType::kFloat32, {Dim::symbol("n"), Dim(kChannels), Dim(kSize), Dim(kSize)}});
  Value* first = function(*graph, PointwiseFunction::k_relu, {conv(*graph, x, 1, 1)});
  Value* second = function(*graph, PointwiseFunction::k_relu, {conv(*graph, first, 3, 2)});
  Value* third = conv(*graph, second, 1, 3);
  Value* sum = function(*graph, PointwiseFunction::k_add, {third, first});
  Value* last = conv(*graph, sum, 3, 4);
  auto mean = std::make_unique<Reduce>();
  mean->function = ReduceFunction::kMean;
  mean->axes = {2, 3};
  Value* means = graph->add_node(std::move(mean), {last})->output();
  last->name = "image";
  means->name = "means";
  graph->add_output(last);
  graph->add_output(means);
  return graph;
}

Result<std::shared_ptr<Engine>> image_engine(const char* turns = nullptr) {
  const Extents one = {1, kChannels, kSize, kSize}, all = {kBatch, kChannels, kSize, kSize};
  TENON_ASSIGN(auto engine, engine_of(image_graph(), {{{"x", {one, all, all}}}}));
  if (turns == nullptr) return engine;
  Plan plan = copy_of(engine->plan());
  plan.settings[kTurnsSetting] = turns;
  return Engine::create(std::move(plan), cpu_backend(2));
}

struct Outputs {
  Tensor image, means;
};

Result<Outputs> run(std::shared_ptr<Engine> engine, const std::byte* x, int64_t samples) {
  TENON_ASSIGN(auto context, Context::create(std::move(engine), 2));
  Outputs outputs{Tensor(DataType::kFloat32, {samples, kChannels, kSize, kSize}),
                  Tensor(DataType::kFloat32, {samples, kChannels, 1, 1})};
  TENON_TRY(context->set_input_shape("x", {samples, kChannels, kSize, kSize}));
  TENON_TRY(context->set_address("x", const_cast<std::byte*>(x)));
  TENON_TRY(context->set_address("image", outputs.image.mutable_bytes()));
  TENON_TRY(context->set_address("means", outputs.means.mutable_bytes()));
  TENON_TRY(context->enqueue(nullptr));
  return outputs;
}

TEST(SampleSteps, ABatchGivesWhatItsSamplesGive) {
  const auto engine = image_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Tensor x = numbers({kBatch, kChannels, kSize, kSize}, 5);
  const auto whole = run(*engine, x.bytes(), kBatch);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const int64_t image = kChannels * kSize * kSize;
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto one = run(*engine, x.bytes() + n * image * 4, 1);
    ASSERT_TRUE(one.ok()) << one.error().message;
    double distance = 0;
    for (int64_t i = 0; i < image; ++i)
      distance = std::max(
          distance, std::abs(whole->image.as_double(n * image + i) - one->image.as_double(i)));
    for (int64_t c = 0; c < kChannels; ++c)
      distance = std::max(
          distance, std::abs(whole->means.as_double(n * kChannels + c) - one->means.as_double(c)));
    EXPECT_LT(distance, test::kNear) << "sample " << n;
  }
}

TEST(SampleSteps, TurnsOfAnySizeGiveTheSame) {
  const Tensor x = numbers({kBatch, kChannels, kSize, kSize}, 5);
  const auto whole = image_engine("0");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  for (const char* turns : {"1", "2", "3", "1 4000000", "2 0"}) {
    const auto engine = image_engine(turns);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    // Lists of steps are made from those of other batches.
    for (const int64_t batch : {kBatch, kBatch - 1, kBatch / 2, int64_t{1}, kBatch}) {
      const auto expected = run(*whole, x.bytes(), batch), actual = run(*engine, x.bytes(), batch);
      ASSERT_TRUE(expected.ok() && actual.ok()) << actual.error().message;
      double distance = 0;
      for (int64_t i = 0; i < expected->image.count(); ++i)
        distance =
            std::max(distance, std::abs(expected->image.as_double(i) - actual->image.as_double(i)));
      for (int64_t i = 0; i < expected->means.count(); ++i)
        distance =
            std::max(distance, std::abs(expected->means.as_double(i) - actual->means.as_double(i)));
      EXPECT_LT(distance, test::kNear) << turns << ", batch " << batch;
    }
  }
}

/// Turns, memory that results share and weights that are fetched are those of a list of its own.
TEST(SampleSteps, ABatchTakesTheListOfAnother) {
  const auto engine = image_engine();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto first = (*engine)->program({{"n", 3 * kBatch}}, 2);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_GT(std::ranges::count_if((*first)->list().steps,
                                  [](const Step& step) { return step.samples != Dim(1); }),
            0);
  for (const int64_t batch : {3 * kBatch - 1, 2 * kBatch + 1, kBatch + 1}) {
    const auto program = (*engine)->program({{"n", batch}}, 2);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE((*program)->shares_list_of(**first)) << batch;
    EXPECT_LE((*program)->arena_bytes(), (*first)->arena_bytes());
    const StepList list = (*program)->list();
    const Status sound = verify(list, (*engine)->graph());
    EXPECT_TRUE(sound.ok()) << sound.error().message;
    const auto alone = Engine::create(copy_of((*engine)->plan()), cpu_backend(2));
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    const auto own = (*alone)->program({{"n", batch}}, 2);
    ASSERT_TRUE(own.ok()) << own.error().message;
    EXPECT_EQ(numbers_of(list), numbers_of((*own)->list())) << batch;
  }
}

/// A problem of one pointwise operator over images.
struct Sum {
  Graph graph;
  Problem problem;

  explicit Sum(Extents other, const Tensor* constant = nullptr) {
    Value *x = graph.add_input("x", {}), *y = graph.add_input("y", {});
    problem.operation =
        *graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_add), {x, y});
    const Operand image{.present = true, .extents = {4, 64, 128, 128}};
    problem.inputs = {image, {.present = true, .extents = std::move(other), .constant = constant}};
    problem.outputs = {image};
  }
};

TEST(SampleSteps, TakesImagesApartAndSharesTheRest) {
  const auto step = sample_step(Sum({4, 64, 128, 128}).problem, {});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->samples, 4);
  EXPECT_EQ(step->input_bytes[1], 64 * 128 * 128 * 4);
  EXPECT_EQ(step->problem.output().extents[0], 1);
  const Tensor bias(DataType::kFloat32, {1, 64, 1, 1});
  const auto shared = sample_step(Sum({1, 64, 1, 1}, &bias).problem, {});
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->input_bytes[1], 0);
}

TEST(SampleSteps, TakesSignalsApart) {
  Sum signals({4, 64, 128 * 128});
  signals.problem.inputs[0].extents = signals.problem.outputs[0].extents = {4, 64, 128 * 128};
  EXPECT_TRUE(sample_step(signals.problem, {}).has_value());
}

TEST(SampleSteps, LeavesOthersWhole) {
  const Tensor scale(DataType::kFloat32, {4, 1, 1, 1});
  EXPECT_FALSE(sample_step(Sum({4, 1, 1, 1}, &scale).problem, {}).has_value())
      << "a constant a sample";
  EXPECT_FALSE(sample_step(Sum({64, 128, 128}).problem, {}).has_value()) << "no batch of images";
  Sum small({4, 64, 8, 8});
  small.problem.inputs[0].extents = small.problem.outputs[0].extents = {4, 64, 8, 8};
  EXPECT_FALSE(sample_step(small.problem, {}).has_value()) << "fits in the caches";
}

/// Batches go like the nearest power of two, of which 16 have 8 MiB here: each that went by itself
/// would need a list of steps of its own.
TEST(SampleSteps, GoLikeThePowerOfTwo) {
  for (const int64_t batch : {8, 11, 12, 16, 23, 24, 31}) {
    const Extents extents = {batch, 16, 52, 53};
    Sum sum(extents);
    sum.problem.inputs[0].extents = sum.problem.outputs[0].extents = extents;
    EXPECT_EQ(sample_step(sum.problem, {}).has_value(), batch >= 12) << batch;
  }
}

/// An image that is rounded by scales along an axis.
struct Rounding {
  Graph graph;
  Problem problem;
  Tensor scale{DataType::kFloat32, {64}};

  explicit Rounding(int64_t axis) {
    auto op = std::make_unique<Quantize>();
    op->axis = axis;
    problem.operation =
        *graph.add_node(std::move(op), {graph.add_input("x", {}), graph.add_input("scale", {})});
    const Operand image{.present = true, .extents = {64, 64, 32, 32}};
    problem.inputs = {image, {.present = true, .extents = {64}, .constant = &scale}};
    problem.outputs = {image};
  }
};

TEST(SampleSteps, RoundsSamplesApartThatShareTheirScales) {
  EXPECT_TRUE(sample_step(Rounding(1).problem, {}).has_value());
  EXPECT_FALSE(sample_step(Rounding(0).problem, {}).has_value()) << "a scale a sample";
  EXPECT_FALSE(sample_step(Rounding(-4).problem, {}).has_value()) << "a scale a sample";
}

/// Two convolutions of bytes, whose weights are rounded by a scale a channel.
constexpr const char* kBytes = R"((%0: u8[8,4,512,512]) {
  %1 = constant() {value = f32[]{0.03}} : f32[]
  %2 = constant() {value = u8[]{37}} : u8[]
  %3 = constant() {value = f32[4]{0.5,0.25,0.125,1}} : f32[4]
  %4 = constant() {value = i8[4,4,1,1]{1,2,-3,4,5,6,-7,8,9,-10,11,12,13,14,15,-16}} : i8[4,4,1,1]
  %5 = dequantize "d0"(%0, %1, %2) : f32[8,4,512,512]
  %6 = dequantize "w0"(%4, %3) {axis = 0} : f32[4,4,1,1]
  %7 = conv "c0"(%5, %6) : f32[8,4,512,512]
  %8 = quantize "q0"(%7, %1, %2) {to = u8} : u8[8,4,512,512]
  %9 = dequantize "d1"(%8, %1, %2) : f32[8,4,512,512]
  %10 = dequantize "w1"(%4, %3) {axis = 0} : f32[4,4,1,1]
  %11 = conv "c1"(%9, %10) : f32[8,4,512,512]
  %12 = quantize "q1"(%11, %1, %2) {to = u8} : u8[8,4,512,512]
  return %12
})";

TEST(SampleSteps, ConvolutionsOfBytesRunInTurns) {
  const auto usual = engine_of(named_graph(kBytes));
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  Plan plan = copy_of((*usual)->plan());
  plan.settings[kTurnsSetting] = "0";
  const auto whole = Engine::create(std::move(plan), cpu_backend(2));
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  Tensor x(DataType::kUInt8, {8, 4, 512, 512});
  for (int64_t i = 0; i < x.count(); ++i) x.mutable_bytes()[i] = std::byte(i * i % 251);
  const auto expected = run_engine(*whole, {x}), actual = run_engine(*usual, {x});
  ASSERT_TRUE(expected.ok() && actual.ok());
  EXPECT_EQ(std::memcmp(expected->front().bytes(), actual->front().bytes(), x.count()), 0);
  const auto all = (*whole)->arena_bound(0), turns = (*usual)->arena_bound(0);
  ASSERT_TRUE(all.ok() && turns.ok());
  EXPECT_LT(*turns, *all - x.byte_count() / 2) << "no whole image lies between the convolutions";
}

TEST(SampleSteps, TurnsAreOfOneSizeUpToTheGivenOne) {
  const Sum sum({4, 64, 128, 128});
  const Problem& whole = sum.problem;
  const auto turns = [&](const SampleTurns& wanted) {
    const auto step = sample_step(whole, wanted);
    return step.has_value() ? step->samples : 1;
  };
  EXPECT_EQ(turns({.samples = 0}), 1);
  EXPECT_EQ(turns({.samples = 2}), 2);
  EXPECT_EQ(turns({.samples = 3}), 2) << "four samples are not turns of three";
  EXPECT_EQ(turns({.samples = 8}), 1);
  const auto step = sample_step(whole, {.samples = 2});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->problem.output().extents[0], 2);
  EXPECT_EQ(step->input_bytes[1], 2 * 64 * 128 * 128 * 4);
  constexpr int64_t kOfASample = 3 * 64 * 128 * 128 * 4;
  EXPECT_EQ(turns({.samples = 1, .most_bytes = kOfASample}), 4);
  EXPECT_EQ(turns({.samples = 1, .most_bytes = kOfASample - 1}), 1);
}

TEST(SampleSteps, TurnsSurviveTheirText) {
  for (const SampleTurns turns : {SampleTurns{}, SampleTurns{4, 1 << 20}, SampleTurns{0, 0}})
    EXPECT_EQ(parse_turns(to_text(turns)), turns);
  for (const char* text : {"", "x", "-1", "1 ", "1 x", "1 2 3", "1,2"})
    EXPECT_FALSE(parse_turns(text).has_value()) << text;
}

}  // namespace
}  // namespace tenon
