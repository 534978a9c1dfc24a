// Refitting: other weights in a plan, also where passes have made something else of them.
#include <limits>
#include <set>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

Weights of(const F& values) {
  return {DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}

struct Refitted : Session {
  /// x times a matrix of two columns of named weights.
  ITensor* product(ITensor* x, const F& matrix, const char* name,
                   MatrixOperation as = MatrixOperation::kNONE) {
    const Weights w = weights(matrix);
    network->setWeightsName(w, name);
    ITensor* constant = network->addConstant(dims({2, 2}), w)->getOutput(0);
    return network->addMatrixMultiply(*x, as, *constant, MatrixOperation::kNONE)->getOutput(0);
  }
  ITensor* sum(ITensor* a, ITensor* b) {
    return network->addElementWise(*a, *b, ElementWiseOperation::kSUM)->getOutput(0);
  }
  std::unique_ptr<IRefitter> refitter() {
    return std::unique_ptr<IRefitter>(createInferRefitter(*engine, log));
  }
  void refit(const char* name, const F& values) {
    const std::unique_ptr<IRefitter> own = refitter();
    ASSERT_NE(own, nullptr) << log.text();
    EXPECT_TRUE(own->setNamedWeights(name, of(values)));
    EXPECT_TRUE(own->refitCudaEngine()) << log.text();
  }
  /// Goes on with the engine of a plan.
  void load(const IHostMemory& plan) {
    context.reset();
    engine.reset(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    ASSERT_NE(engine, nullptr) << log.text();
    context.reset(engine->createExecutionContext());
  }
};

/// y = relu(scale(conv(x))): the scale goes into the convolution's weights.
struct Network : Refitted {
  F kernel, scale, shift;
  Network(float k, float s, float b) : kernel(36, k), scale(2, s), shift(2, b) {
    ITensor* x = input("x", DataType::kFLOAT, {1, 2, 4, 4});
    auto* conv = network->addConvolutionNd(*x, 2, dims({3, 3}), weights(kernel), Weights{});
    conv->setName("conv");
    auto* bn = network->addScaleNd(*conv->getOutput(0), ScaleMode::kCHANNEL, weights(shift),
                                   weights(scale), Weights{}, 1);
    bn->setName("bn");
    output(network->addActivation(*bn->getOutput(0), ActivationType::kRELU)->getOutput(0), "y");
  }
  F result() { return run({{"x", floats({1, 2, 4, 4}, F(32, 1.0F))}})["y"].values<float>(); }
};

std::set<std::string> names_of(IRefitter& refitter, bool missing) {
  const auto list = [&](int32_t size, const char** names) {
    return missing ? refitter.getMissingWeights(size, names) : refitter.getAllWeights(size, names);
  };
  std::vector<const char*> names(static_cast<size_t>(list(0, nullptr)));
  EXPECT_EQ(list(static_cast<int32_t>(names.size()), names.data()),
            static_cast<int32_t>(names.size()));
  return {names.begin(), names.end()};
}

TEST(Refit, FoldedWeightsFollow) {
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kREFIT);
  EXPECT_EQ(session.result(), F(8, 18 * 2 + 3));
  EXPECT_TRUE(session.engine->isRefittable());
  const auto refitter = session.refitter();
  ASSERT_NE(refitter, nullptr) << session.log.text();
  EXPECT_EQ(names_of(*refitter, false),
            (std::set<std::string>{"conv KERNEL", "bn SCALE", "bn SHIFT"}));
  EXPECT_TRUE(names_of(*refitter, true).empty());
  const F scale(2, 5), kernel(36, 2);
  EXPECT_TRUE(refitter->setNamedWeights("bn SCALE", of(scale)));
  EXPECT_EQ(refitter->getNamedWeights("bn SCALE").count, 2);
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  EXPECT_EQ(session.result(), F(8, 18 * 5 + 3));
  EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, of(kernel)));
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  EXPECT_EQ(session.result(), F(8, 36 * 5 + 3));
  // A plan written now holds the new weights.
  session.load(*std::unique_ptr<IHostMemory>(session.engine->serialize()));
  EXPECT_EQ(session.result(), F(8, 36 * 5 + 3));
}

TEST(Refit, TheLastWayHolds) {
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kREFIT);
  session.config->setFlag(BuilderFlag::kREFIT_IDENTICAL);
  EXPECT_FALSE(session.config->getFlag(BuilderFlag::kREFIT));
  EXPECT_TRUE(session.config->getFlag(BuilderFlag::kREFIT_IDENTICAL));
  ASSERT_EQ(session.log.warnings.size(), 1U);
  EXPECT_NE(session.log.warnings[0].find("the last one holds"), std::string::npos);
  session.config->setFlag(BuilderFlag::kREFIT_INDIVIDUAL);
  EXPECT_FALSE(session.config->getFlag(BuilderFlag::kREFIT_IDENTICAL));
}

TEST(Refit, StrippedPlansNeedTheirWeights) {
  Network full(1, 2, 3);
  full.config->setFlag(BuilderFlag::kREFIT_IDENTICAL);
  full.result();
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kSTRIP_PLAN);
  session.config->setFlag(BuilderFlag::kREFIT_IDENTICAL);
  ASSERT_TRUE(session.build());
  EXPECT_LT(session.plan->size(), full.plan->size());
  EXPECT_GT(session.engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), 0);
  const F ones(32, 1);
  Memory x(32 * 4), y(8 * 4);
  std::memcpy(x.data(), ones.data(), 32 * 4);
  session.context->setTensorAddress("x", x.data());
  session.context->setTensorAddress("y", y.data());
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("refit"));
  const auto refitter = session.refitter();
  ASSERT_NE(refitter, nullptr);
  EXPECT_EQ(names_of(*refitter, true), (std::set<std::string>{"conv KERNEL"}));
  EXPECT_FALSE(refitter->refitCudaEngine());
  EXPECT_TRUE(session.log.complained("conv KERNEL"));
  EXPECT_TRUE(refitter->setNamedWeights("conv KERNEL", of(session.kernel)));
  EXPECT_TRUE(names_of(*refitter, true).empty());
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  EXPECT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  if (gpu() != nullptr) {
    EXPECT_TRUE(gpu()->synchronize(cudaStream_t{}));
  }
  F result(8);
  std::memcpy(result.data(), y.data(), 8 * 4);
  EXPECT_EQ(result, F(8, 39));
}

TEST(Refit, NamesAndRoles) {
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kREFIT);
  ASSERT_TRUE(session.build());
  const auto refitter = session.refitter();
  const char* layers[3] = {};
  WeightsRole roles[3] = {};
  ASSERT_EQ(refitter->getAll(3, layers, roles), 3);
  std::set<std::pair<std::string, WeightsRole>> all;
  for (int i = 0; i < 3; ++i) all.emplace(layers[i], roles[i]);
  EXPECT_TRUE(all.count({"conv", WeightsRole::kKERNEL}));
  EXPECT_TRUE(all.count({"bn", WeightsRole::kSCALE}));
  EXPECT_TRUE(all.count({"bn", WeightsRole::kSHIFT}));
  EXPECT_EQ(refitter->getWeightsPrototype("conv KERNEL").count, 36);
  EXPECT_EQ(refitter->getWeightsPrototype("conv KERNEL").type, DataType::kFLOAT);
}

/// The weights of a convolution and of a constant layer, by layer and role.
std::set<std::pair<std::string, WeightsRole>> weights_of_products(bool in_eight_bits) {
  Refitted session;
  const F kernel(36, 0.5F);
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2, 4, 4});
  auto* conv =
      session.network->addConvolutionNd(*x, 2, dims({3, 3}), session.weights(kernel), Weights{});
  conv->setName("conv");
  auto* w = session.network->addConstant(dims({1, 1, 2, 3}), session.weights(F(6, 0.5F)));
  w->setName("w");
  auto* product = session.network->addMatrixMultiply(*conv->getOutput(0), MatrixOperation::kNONE,
                                                     *w->getOutput(0), MatrixOperation::kNONE);
  session.output(product->getOutput(0), "y");
  session.config->setFlag(BuilderFlag::kREFIT);
  session.config->setBuilderOptimizationLevel(2);
  if (in_eight_bits) session.config->setFlag(BuilderFlag::kINT8);
  for (ITensor* tensor : {x, conv->getOutput(0), product->getOutput(0)})
    tensor->setDynamicRange(-9, 9);
  EXPECT_TRUE(session.build()) << session.log.text();
  if (!session.engine) return {};
  const auto refitter = session.refitter();
  const char* layers[8] = {};
  WeightsRole roles[8] = {};
  std::set<std::pair<std::string, WeightsRole>> all;
  for (int i = 0, count = refitter->getAll(8, layers, roles); i < count; ++i)
    all.emplace(layers[i], roles[i]);
  return all;
}

TEST(Refit, RangesChangeNoNames) {
  const auto names = weights_of_products(false);
  EXPECT_TRUE(names.contains({"conv", WeightsRole::kKERNEL}));
  EXPECT_TRUE(names.contains({"w", WeightsRole::kCONSTANT}));
  EXPECT_EQ(weights_of_products(true), names);
}

/// Weights that other versions of the kernels read stay in the model's form.
TEST(Refit, PlansForOtherVersionsHoldNoPackedWeights) {
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kREFIT);
  session.config->setFlag(BuilderFlag::kVERSION_COMPATIBLE);
  EXPECT_EQ(session.result(), F(8, 18 * 2 + 3));
  session.refit("bn SCALE", F(2, 5));
  session.load(*std::unique_ptr<IHostMemory>(session.engine->serialize()));
  EXPECT_EQ(session.result(), F(8, 18 * 5 + 3));
}

TEST(Refit, NamesOfNoWeightsAreNotMarked) {
  Refitted session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  const Weights w = session.weights({1, 2});
  IConstantLayer* constant = session.network->addConstant(dims({2}), w);
  session.output(session.sum(x, constant->getOutput(0)), "y");
  EXPECT_FALSE(session.network->markWeightsRefittable("bias"));
  EXPECT_TRUE(session.log.complained("weights of the network")) << session.log.text();
  EXPECT_FALSE(session.network->unmarkWeightsRefittable("bias"));
  const std::string own = std::string(constant->getName()) + " CONSTANT";
  EXPECT_TRUE(session.network->markWeightsRefittable(own.c_str())) << session.log.text();
  EXPECT_TRUE(session.network->setWeightsName(w, "bias"));
  EXPECT_TRUE(session.network->unmarkWeightsRefittable("bias"));
  EXPECT_FALSE(session.network->areWeightsMarkedRefittable("bias"));
  EXPECT_TRUE(session.network->setWeightsName(w, nullptr));
  EXPECT_FALSE(session.network->markWeightsRefittable("bias"));
}

TEST(Refit, UserNamesAndIndividualWeights) {
  Refitted session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2});
  ITensor* product = session.product(x, {1, 2, 3, 4}, "w");
  const Weights b = session.weights({5, 6});
  session.network->setWeightsName(b, "b");
  EXPECT_TRUE(session.network->markWeightsRefittable("w"));
  EXPECT_TRUE(session.network->areWeightsMarkedRefittable("w"));
  ITensor* bias = session.network->addConstant(dims({1, 2}), b)->getOutput(0);
  session.output(session.sum(product, bias), "y");
  session.config->setFlag(BuilderFlag::kREFIT_INDIVIDUAL);
  expect_near(session.run({{"x", floats({1, 2}, {1, 1})}})["y"], {9, 12});
  const auto refitter = session.refitter();
  EXPECT_EQ(names_of(*refitter, false), (std::set<std::string>{"w"}));
  const F other = {1, 0, 0, 1};
  EXPECT_FALSE(refitter->setNamedWeights("b", of({1, 1})));
  EXPECT_TRUE(session.log.complained("'b'"));
  EXPECT_TRUE(refitter->setNamedWeights("w", of(other)));
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  expect_near(session.run({{"x", floats({1, 2}, {1, 1})}})["y"], {6, 7});
}

/// Weights are new also where extents broadcast that the plan was tuned for as equal.
TEST(Refit, ReachesOperandsThatAreBroadcast) {
  Refitted session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
  ITensor* added = session.input("added", DataType::kFLOAT, {-1, 2});
  IOptimizationProfile* profile = session.builder->createOptimizationProfile();
  for (const char* name : {"x", "added"}) {
    EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kMIN, dims({1, 2})));
    EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kOPT, dims({3, 2})));
    EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kMAX, dims({4, 2})));
  }
  EXPECT_EQ(session.config->addOptimizationProfile(profile), 0);
  session.output(session.sum(session.product(x, {1, 0, 0, 1}, "w"), added), "y");
  session.config->setFlag(BuilderFlag::kREFIT);
  const auto result = [&session](size_t rows, size_t of_added) {
    const auto filled = [](size_t count, float value) {
      return floats({static_cast<int64_t>(count), 2}, F(2 * count, value));
    };
    return session.run({{"x", filled(rows, 1)}, {"added", filled(of_added, 5)}})["y"];
  };
  expect_near(result(1, 4), F(8, 6));
  session.refit("w", {3, 0, 0, 3});
  expect_near(result(1, 4), F(8, 8));
  expect_near(result(3, 1), F(6, 8));
  expect_near(result(2, 2), F(4, 8));
}

/// The passes' facts about the device when the plan was built decide again: here that a sum is left
/// to the normalization behind it.
TEST(Refit, RegionsStayAsTheyWereBuilt) {
  Refitted session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  ITensor* sum = session.sum(session.product(x, {1, 2, 3, 4}, "w"), x);
  ITensor* one = session.constant({1, 2}, {1, 1});
  ITensor* zero = session.constant({1, 2}, {0, 0});
  session.output(session.network->addNormalization(*sum, *one, *zero, 1U << 1)->getOutput(0), "y");
  session.config->setFlag(BuilderFlag::kREFIT);
  const auto input = floats({2, 2}, {1, 2, 2, 1});
  expect_near(session.run({{"x", input}})["y"], {-1, 1, -1, 1});
  session.refit("w", {4, 3, 2, 1});
  expect_near(session.run({{"x", input}})["y"], {1, -1, 1, -1});
}

TEST(Refit, WeightsOfTheDeviceAreToldAsGiven) {
  Network session(1, 2, 3);
  session.config->setFlag(BuilderFlag::kREFIT);
  ASSERT_TRUE(session.build());
  const auto refitter = session.refitter();
  const F scale(2, 5);
  api_test::Memory memory(sizeof(float) * scale.size());
  std::memcpy(memory.data(), scale.data(), sizeof(float) * scale.size());
  const Weights given{DataType::kFLOAT, memory.data(), 2};
  EXPECT_EQ(refitter->getWeightsLocation("bn SCALE"), TensorLocation::kHOST);
  EXPECT_TRUE(refitter->setNamedWeights("bn SCALE", given, TensorLocation::kDEVICE));
  EXPECT_EQ(refitter->getWeightsLocation("bn SCALE"), TensorLocation::kDEVICE);
  EXPECT_EQ(refitter->getNamedWeights("bn SCALE").values, given.values);
  EXPECT_TRUE(refitter->setNamedWeights("bn SCALE", of(scale)));
  EXPECT_EQ(refitter->getWeightsLocation("bn SCALE"), TensorLocation::kHOST);
  EXPECT_TRUE(refitter->setNamedWeights("bn SCALE", given, TensorLocation::kDEVICE));
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  EXPECT_EQ(refitter->getWeightsLocation("bn SCALE"), TensorLocation::kHOST);
  EXPECT_EQ(session.result(), F(8, 18 * 5 + 3));
}

/// Passes look at contents: equal rows are made one, and other weights have none. The plan follows.
TEST(Refit, WeightsMayBeOptimizedOtherwise) {
  Refitted session;
  session.config->setFlag(BuilderFlag::kREFIT);
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  const F all = {1, 2, 3, 4}, equal_rows = {-10, 5, -10, 5}, ones(4, 1);
  auto* addend = session.network->addConstant(dims({2, 2}), session.weights(all));
  addend->setName("addend");
  ITensor* sum = session.sum(x, addend->getOutput(0));
  session.output(session.network->addActivation(*sum, ActivationType::kRELU)->getOutput(0), "y");
  const auto result = [&] {
    return session.run({{"x", floats({2, 2}, ones)}})["y"].values<float>();
  };
  EXPECT_EQ(result(), (F{2, 3, 4, 5}));
  auto refitter = session.refitter();
  const auto refit = [&](const F& values) {
    EXPECT_TRUE(refitter->setWeights("addend", WeightsRole::kCONSTANT, of(values)));
    EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  };
  refit(equal_rows);
  EXPECT_EQ(result(), (F{0, 6, 0, 6}));
  EXPECT_FALSE(session.log.warnings.empty());
  const std::unique_ptr<IHostMemory> plan(session.engine->serialize());
  refit(all);
  EXPECT_EQ(result(), (F{2, 3, 4, 5}));
  refitter.reset();
  session.load(*plan);
  EXPECT_EQ(result(), (F{0, 6, 0, 6}));
}

/// Layers inside of a loop have names of their own, or the loop's.
TEST(Refit, LoopsKeepTheirKernels) {
  Refitted session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3, 2});
  ILoop* loop = session.network->addLoop();
  loop->setName("loop");
  loop->addTripLimit(*session.constant32({}, {3}), TripLimit::kCOUNT);
  IRecurrenceLayer* sum = loop->addRecurrence(*session.constant({2}, {0, 0}));
  ITensor* row = loop->addIterator(*x)->getOutput(0);
  ITensor* product = session.product(row, {1, 0, 0, 1}, "w", MatrixOperation::kVECTOR);
  sum->setInput(1, *session.sum(sum->getOutput(0), product));
  session.output(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
  session.config->setFlag(BuilderFlag::kREFIT);
  const Arrays inputs = {{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(session.run(inputs)["y"].values<float>(), (F{9, 12}));
  session.refit("w", {0, 2, 2, 0});
  EXPECT_EQ(session.run(inputs)["y"].values<float>(), (F{24, 18}));
  EXPECT_EQ(session.log.warnings, std::vector<std::string>());
}

/// The infinity of a mask is no mistake where the network has it.
TEST(Refit, InfinitiesStayWhereTheyWere) {
  Refitted session;
  session.config->setFlag(BuilderFlag::kREFIT);
  const float infinity = std::numeric_limits<float>::infinity();
  const Weights mask = session.weights({-infinity, 1});
  ASSERT_TRUE(session.network->setWeightsName(mask, "mask"));
  auto* constant = session.network->addConstant(dims({2}), mask);
  session.output(session.sum(session.input("x", DataType::kFLOAT, {2}), constant->getOutput(0)),
                 "y");
  ASSERT_TRUE(session.build());
  const auto refitter = session.refitter();
  const F other = {0, infinity}, same = {-infinity, 2};
  EXPECT_FALSE(refitter->setNamedWeights("mask", of(other)));
  EXPECT_TRUE(session.log.complained("not finite"));
  EXPECT_TRUE(refitter->setNamedWeights("mask", of(same)));
  EXPECT_TRUE(refitter->refitCudaEngine()) << session.log.text();
  EXPECT_EQ(session.run({{"x", floats({2}, {1, 1})}})["y"].values<float>(), (F{-infinity, 3}));
}

TEST(Refit, WrongWeightsAreRefused) {
  Network session(1, 2, 3);
  ASSERT_TRUE(session.build());
  EXPECT_FALSE(session.engine->isRefittable());
  EXPECT_EQ(createInferRefitter(*session.engine, session.log), nullptr);
  EXPECT_TRUE(session.log.complained("kREFIT"));
  Network other(1, 2, 3);
  other.config->setFlag(BuilderFlag::kREFIT);
  ASSERT_TRUE(other.build());
  const auto refitter = other.refitter();
  EXPECT_FALSE(refitter->setNamedWeights("nothing", of({1})));
  EXPECT_TRUE(other.log.complained("'nothing'"));
  EXPECT_FALSE(refitter->setNamedWeights(nullptr, of({1})));
  EXPECT_TRUE(other.log.complained("null"));
  EXPECT_FALSE(refitter->setNamedWeights("bn SCALE", of({1})));
  EXPECT_TRUE(other.log.complained("2 values"));
  const F bad = {1, std::nanf("")};
  EXPECT_FALSE(refitter->setNamedWeights("bn SCALE", of(bad)));
  EXPECT_TRUE(other.log.complained("not finite"));
  refitter->setWeightsValidation(false);
  EXPECT_TRUE(refitter->setNamedWeights("bn SCALE", of(bad)));
  EXPECT_TRUE(refitter->unsetNamedWeights("bn SCALE"));
  EXPECT_FALSE(refitter->unsetNamedWeights("bn SCALE"));
  EXPECT_FALSE(refitter->setWeights("bn", WeightsRole::kKERNEL, of({1, 1})));
  EXPECT_TRUE(other.log.complained("role"));
}

}  // namespace
}  // namespace api_test
