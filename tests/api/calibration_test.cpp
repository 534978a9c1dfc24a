#include <tenon/quantize.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "harness.h"

namespace api_test {
namespace {

/// Gives batches of four rows of four numbers, and keeps the cache that it is given.
template <class Base> class Batches final : public Base {
 public:
  explicit Batches(int count) : left_(count) {}

  int32_t getBatchSize() const noexcept override { return 4; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    if (left_-- <= 0) return false;
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(names[0], "x");
    memory_.resize(16 * sizeof(float));
    for (int i = 0; i < 16; ++i) {
      const float value = static_cast<float>(i % 7 - 3) * static_cast<float>(left_ + 1) / 3;
      std::memcpy(memory_.data() + static_cast<size_t>(i) * sizeof(float), &value, sizeof(float));
    }
    bindings[0] = memory_.data();
    ++given;
    return true;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = cache.size();
    return cache.empty() ? nullptr : cache.data();
  }
  void writeCalibrationCache(const void* data, std::size_t length) noexcept override {
    cache.assign(static_cast<const char*>(data), length);
  }

  std::string cache;
  int given = 0;

 private:
  int left_;
  Memory memory_;
};

/// y = relu(x w + b) v
struct Products : Session {
  /// `size`: of the first weights, and so of the results.
  explicit Products(float size = 1) : size_(size) {
    ITensor* x = input("x", DataType::kFLOAT, {4, 4});
    hidden = product(*x, *constant({4, 4}, ramp(16, size)), "first");
    ITensor* sum =
        network
            ->addElementWise(*hidden, *constant({1, 4}, ramp(4, size)), ElementWiseOperation::kSUM)
            ->getOutput(0);
    ITensor* active = network->addActivation(*sum, ActivationType::kRELU)->getOutput(0);
    active->setName("active");
    output(product(*active, *constant({4, 3}, ramp(12)), "second"), "y");
    config->setFlag(BuilderFlag::kINT8);
    // From level 3 on, layers as small as these may be faster in floating point, and stay so.
    config->setBuilderOptimizationLevel(2);
    // A GPU's kernels in FP32 and in TF32 may be chosen in two builds of the same layer.
    config->clearFlag(BuilderFlag::kTF32);
  }
  static std::vector<float> ramp(int count, float size = 1) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i) values.push_back(size * static_cast<float>(i * 5 % 11 - 5) / 5);
    return values;
  }
  ITensor* product(ITensor& a, ITensor& b, const char* name) {
    auto* layer = network->addMatrixMultiply(a, MatrixOperation::kNONE, b, MatrixOperation::kNONE);
    layer->setName(name);
    return layer->getOutput(0);
  }
  /// Results, and how far they are from those in fp32.
  float error() {
    Arrays inputs;
    inputs["x"] = floats({4, 4}, ramp(16));
    const Arrays outputs = run(inputs);
    Products exact(size_);
    exact.config->clearFlag(BuilderFlag::kINT8);
    const Arrays expected = exact.run(inputs);
    if (outputs.empty() || expected.empty()) return -1;
    const auto actual = outputs.at("y").values<float>(), right = expected.at("y").values<float>();
    float most = 0;
    for (size_t i = 0; i < right.size(); ++i) most = std::max(most, std::abs(actual[i] - right[i]));
    return most;
  }
  ITensor* hidden = nullptr;

 private:
  float size_;
};

constexpr float kClose = 0.08F;

bool warns(const Session& session, std::string_view text) {
  return std::ranges::any_of(session.log.warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

template <class Base> class CalibratorTest : public testing::Test {};
using Calibrators =
    testing::Types<IInt8EntropyCalibrator2, IInt8EntropyCalibrator, IInt8MinMaxCalibrator>;
TYPED_TEST_SUITE(CalibratorTest, Calibrators);

TYPED_TEST(CalibratorTest, BatchesGiveRangesAndACache) {
  Batches<TypeParam> calibrator(3);
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  const float error = session.error();
  EXPECT_GT(error, 0) << "it was not rounded";
  EXPECT_LT(error, kClose);
  EXPECT_EQ(calibrator.given, 3);
  EXPECT_EQ(calibrator.cache.find("TRT-101600-"), 0);
  EXPECT_NE(calibrator.cache.find("\nx: "), std::string::npos);
  EXPECT_NE(calibrator.cache.find("\nactive: "), std::string::npos);

  Batches<TypeParam> again(3);
  again.cache = calibrator.cache;
  Products second;
  second.config->setInt8Calibrator(&again);
  // The second build may time other kernels as the best, which add in another order.
  EXPECT_NEAR(second.error(), error, kClose / 10);
  EXPECT_EQ(again.given, 0);
}

/// As where a suppression of boxes ends a detector.
TEST(Calibration, TensorsInFrontOfExtentsThatDataDecideGetRanges) {
  Batches<IInt8EntropyCalibrator2> calibrator(3);
  Products session;
  ITensor* active = session.network->getLayer(4)->getOutput(0);
  ASSERT_STREQ(active->getName(), "active");
  ITensor* where = session.network->addNonZero(*active)->getOutput(0);
  session.output(
      session.network->addElementWise(*where, *where, ElementWiseOperation::kSUM)->getOutput(0),
      "where");
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(calibrator.given, 3);
  for (const char* name : {"x", "active", "y"})
    EXPECT_NE(calibrator.cache.find(std::string("\n") + name + ": "), std::string::npos) << name;
}

TEST(Calibration, ANetworkWithoutProductsIsCalibratedToo) {
  Batches<IInt8EntropyCalibrator2> calibrator(3);
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {4, 4});
  session.output(session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0), "y");
  session.config->setFlag(BuilderFlag::kINT8);
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(calibrator.given, 3);
  EXPECT_NE(calibrator.cache.find("\nx: "), std::string::npos) << calibrator.cache;
}

TEST(Calibration, RandomInputsGiveRangesThatFitTheNetwork) {
  for (const float size : {1.0F, 1e-4F}) {
    Products session(size);
    EXPECT_TRUE(tenon::setRandomCalibration(*session.config, true));
    const float error = session.error();
    EXPECT_GT(error, 0) << "it was not rounded";
    EXPECT_LT(error, 2 * kClose * size) << "it has a bit less";
  }
}

TEST(Calibration, RangesThatAreGivenAreNotMadeUp) {
  Products session;
  EXPECT_TRUE(tenon::setRandomCalibration(*session.config, true));
  EXPECT_TRUE(session.network->getInput(0)->setDynamicRange(-1e6F, 1e6F));
  EXPECT_TRUE(session.hidden->setDynamicRange(-1e6F, 1e6F));
  EXPECT_GT(session.error(), 10 * kClose);
}

TEST(Calibration, TheLargestNumberIsInTheCache) {
  Batches<IInt8MinMaxCalibrator> calibrator(3);
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build());
  char line[32];
  std::snprintf(line, sizeof line, "\nx: %08x\n", std::bit_cast<uint32_t>(3.0F / 127));
  EXPECT_NE(calibrator.cache.find(line), std::string::npos) << calibrator.cache;
}

TEST(Calibration, ACacheOfAnotherAlgorithmIsNotTaken) {
  Batches<IInt8MinMaxCalibrator> calibrator(2);
  calibrator.cache = "TRT-101600-EntropyCalibration2\nx: 3c010a14\n";
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(calibrator.given, 2);
}

TEST(Calibration, ACacheOfAnotherNetworkIsTold) {
  Batches<IInt8EntropyCalibrator2> calibrator(0);
  calibrator.cache = "TRT-101600-EntropyCalibration2\nother: 3c010a14\n";
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(warns(session, "names no tensor of this network"));
}

/// Inputs are often called the same: with no more than their ranges nothing can be quantized.
TEST(Calibration, ACacheThatKnowsTheInputAloneIsTold) {
  Batches<IInt8EntropyCalibrator2> calibrator(0);
  calibrator.cache =
      "TRT-101600-EntropyCalibration2\nx: 3c010a14\nother: 3c010a14\nmore: 3c010a14\n";
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(warns(session, "names 3 tensors, of which this network has 1"));
}

TEST(Calibration, ThatNothingIsQuantizedIsTold) {
  Products none;
  ASSERT_TRUE(none.build());
  EXPECT_TRUE(warns(none, "INT8: 2 do not, since there are no ranges"));

  Products kept;
  kept.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  kept.network->getInput(0)->setDynamicRange(-1, 1);
  for (int i = 0; i < kept.network->getNbLayers(); ++i)
    kept.network->getLayer(i)->setPrecision(DataType::kFLOAT);
  ASSERT_TRUE(kept.build());
  EXPECT_TRUE(warns(kept, "INT8 is allowed, but no layer uses it"));
  EXPECT_TRUE(warns(kept, "INT8: 2 do not, since setPrecision asks for "));
}

TEST(Calibration, NeitherCacheNorBatchIsAnError) {
  Batches<IInt8EntropyCalibrator2> calibrator(0);
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(session.log.complained("gave neither a cache nor a batch"));
}

TEST(Calibration, DynamicRangesAreRanges) {
  Products session;
  session.network->getInput(0)->setDynamicRange(-1, 1);
  for (int i = 0; i < session.network->getNbLayers(); ++i)
    session.network->getLayer(i)->getOutput(0)->setDynamicRange(-3.5F, 3.5F);
  const float error = session.error();
  EXPECT_GT(error, 0);
  EXPECT_LT(error, kClose);
}

/// A range that is set comes before one that is calibrated: here it clips everything.
TEST(Calibration, DynamicRangesComeBeforeThoseOfACalibrator) {
  Batches<IInt8MinMaxCalibrator> calibrator(1);
  Products session;
  session.config->setInt8Calibrator(&calibrator);
  session.network->getInput(0)->setDynamicRange(-0.01F, 0.01F);
  EXPECT_GT(session.error(), 5 * kClose);
}

TEST(Calibration, LayersThatAreToStayInFloatingPointDo) {
  Products session;
  session.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  session.network->getInput(0)->setDynamicRange(-0.01F, 0.01F);
  for (int i = 0; i < session.network->getNbLayers(); ++i)
    if (session.network->getLayer(i)->getType() == LayerType::kMATRIX_MULTIPLY)
      session.network->getLayer(i)->setPrecision(DataType::kFLOAT);
  const float error = session.error();
  EXPECT_GE(error, 0);
  EXPECT_LT(error, kNear);
}

/// Whichever way is faster, the build logs the result.
TEST(Calibration, TimesDecideFromLevelThree) {
  Products session;
  session.config->setBuilderOptimizationLevel(3);
  session.network->getInput(0)->setDynamicRange(-1, 1);
  for (int i = 0; i < session.network->getNbLayers(); ++i)
    session.network->getLayer(i)->getOutput(0)->setDynamicRange(-3.5F, 3.5F);
  EXPECT_LT(session.error(), kClose);
}

/// Ranges of the network, in a plan that can be refitted.
struct Refitted : Products {
  Refitted() {
    config->setFlag(BuilderFlag::kREFIT);
    network->getInput(0)->setDynamicRange(-1, 1);
    for (int i = 0; i < network->getNbLayers(); ++i)
      network->getLayer(i)->getOutput(0)->setDynamicRange(-3.5F, 3.5F);
    built = build();
    if (built) refitter.reset(createInferRefitter(*engine, log));
  }
  std::vector<float> results() {
    return run({{"x", floats({4, 4}, ramp(16))}}).at("y").values<float>();
  }
  bool built = false;
  std::unique_ptr<IRefitter> refitter;
};

TEST(Calibration, RangesAreRefitted) {
  Refitted session;
  ASSERT_TRUE(session.built && session.refitter != nullptr) << session.log.text();
  IRefitter& refitter = *session.refitter;
  const char* names[4] = {};
  ASSERT_EQ(refitter.getTensorsWithDynamicRange(0, nullptr), 2);
  ASSERT_EQ(refitter.getTensorsWithDynamicRange(4, names), 2);
  EXPECT_EQ((std::set<std::string>{names[0], names[1]}), (std::set<std::string>{"x", "active"}));
  EXPECT_FLOAT_EQ(refitter.getDynamicRangeMin("active"), -3.5F);
  EXPECT_FLOAT_EQ(refitter.getDynamicRangeMax("active"), 3.5F);
  const std::vector<float> before = session.results();
  EXPECT_TRUE(refitter.setDynamicRange("active", -0.25F, 0.5F));
  EXPECT_EQ(refitter.getDynamicRangeMin("active"), -0.25F);
  EXPECT_EQ(session.results(), before) << "ranges wait for refitCudaEngine";
  EXPECT_TRUE(refitter.refitCudaEngine()) << session.log.text();
  EXPECT_FLOAT_EQ(refitter.getDynamicRangeMin("active"), -0.5F) << "scales know no sign";
  float most = 0;
  for (const float y : session.results()) most = std::max(most, std::abs(y));
  EXPECT_GT(most, 0);
  // Four numbers of at most 0.5, each times at most 1.
  EXPECT_LE(most, 4 * 0.5F * 1.01F) << "it does not clip";
  EXPECT_TRUE(refitter.setDynamicRange("active", -3.5F, 3.5F));
  EXPECT_TRUE(refitter.refitCudaEngine()) << session.log.text();
  EXPECT_EQ(session.results(), before);
}

TEST(Calibration, OnlyRangesThatAreThereAreRefitted) {
  Refitted session;
  ASSERT_TRUE(session.built && session.refitter != nullptr) << session.log.text();
  IRefitter& refitter = *session.refitter;
  for (const char* name : {static_cast<const char*>(nullptr), "", "y", "no such name"}) {
    EXPECT_FALSE(refitter.setDynamicRange(name, -1, 1));
    EXPECT_TRUE(session.log.complained("getTensorsWithDynamicRange"));
    EXPECT_TRUE(std::isnan(refitter.getDynamicRangeMin(name)));
    EXPECT_TRUE(std::isnan(refitter.getDynamicRangeMax(name)));
  }
  for (const float least : {2.0F, -INFINITY, NAN}) {
    EXPECT_FALSE(refitter.setDynamicRange("x", least, 1));
    EXPECT_TRUE(session.log.complained("no range of 'x'"));
  }
}

/// Larger weights get scales of their own, in place of those that the first ones had.
TEST(Calibration, ScalesOfWeightsFollowRefittedWeights) {
  Refitted session;
  ASSERT_TRUE(session.built && session.refitter != nullptr) << session.log.text();
  const std::vector<float> before = session.results();
  const int32_t count = session.refitter->getAllWeights(0, nullptr);
  std::vector<const char*> names(static_cast<size_t>(count));
  session.refitter->getAllWeights(count, names.data());
  std::vector<float> larger = Products::ramp(12);
  for (float& value : larger) value *= 8;
  int given = 0;
  for (const char* name : names)
    if (session.refitter->getWeightsPrototype(name).count == 12)
      given += session.refitter->setNamedWeights(name, {DataType::kFLOAT, larger.data(), 12});
  ASSERT_EQ(given, 1);
  EXPECT_TRUE(session.refitter->refitCudaEngine()) << session.log.text();
  const std::vector<float> after = session.results();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], 8 * before[i], 8 * 1e-4F);
}

}  // namespace
}  // namespace api_test
