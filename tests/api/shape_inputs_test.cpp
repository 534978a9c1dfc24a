// Inputs whose contents decide shapes: on the host, with ranges in profiles.
#include <numeric>

#include "harness.h"
#include "recorder.h"

namespace api_test {
namespace {

using F = std::vector<float>;
using I64 = std::vector<int64_t>;

/// y = x [rows,6] in the shape that "shape" [2] says.
struct Reshaped : Session {
  explicit Reshaped(DataType type = DataType::kINT64) {
    ITensor* x = input("x", DataType::kFLOAT, {-1, 6});
    shape = input("shape", type, {2});
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setInput(1, *shape);
    output(network->addUnary(*shuffle->getOutput(0), UnaryOperation::kNEG)->getOutput(0), "y");
  }
  /// Rows of 1 to 8, usually 4; the shape's numbers of 1 to 24.
  IOptimizationProfile* with_profile(int64_t most = 24) {
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    const int64_t rows[] = {1, 4, 8};
    const I64 values[] = {{1, 1}, {8, 3}, {most, most}};
    for (int i = 0; i < 3; ++i) {
      const auto select = static_cast<OptProfileSelector>(i);
      EXPECT_TRUE(profile->setDimensions("x", select, dims({rows[i], 6})));
      EXPECT_TRUE(profile->setShapeValuesV2("shape", select, values[i].data(), 2));
    }
    EXPECT_GE(config->addOptimizationProfile(profile), 0) << log.text();
    return profile;
  }
  ITensor* shape;
};

TEST(ShapeInputs, AreToldFromInputsOfData) {
  Reshaped session;
  EXPECT_TRUE(session.shape->isShapeTensor());
  EXPECT_FALSE(session.network->getInput(0)->isShapeTensor());
  Session other;
  ITensor* indices = other.input("i", DataType::kINT64, {2});
  ITensor* x = other.input("x", DataType::kFLOAT, {4});
  other.output(other.network->addGather(*x, *indices, 0)->getOutput(0), "y");
  EXPECT_FALSE(indices->isShapeTensor());
  EXPECT_TRUE(other.constant64({2}, {1, -1})->isShapeTensor());
  EXPECT_FALSE(other.constant({2}, {1, -1})->isShapeTensor());
}

TEST(ShapeInputs, FillsSayThatAnInputIsOneWhereTheyHaveNoAxis) {
  Session session;
  ITensor* extents = session.input("extents", DataType::kINT32, {});
  IFillLayer* fill = session.network->addFill(dims({}), FillOperation::kLINSPACE, DataType::kINT32);
  session.output(fill->getOutput(0), "y");
  EXPECT_FALSE(extents->isShapeTensor());
  EXPECT_EQ(extents->getLocation(), TensorLocation::kDEVICE);
  fill->setInput(0, *extents);
  EXPECT_TRUE(extents->isShapeTensor());
  EXPECT_EQ(extents->getLocation(), TensorLocation::kHOST);
  extents->setLocation(TensorLocation::kHOST);
  EXPECT_EQ(session.log.text(), "");
  extents->setLocation(TensorLocation::kDEVICE);
  EXPECT_TRUE(session.log.complained("kHOST: the tensor decides shapes"));
}

TEST(ShapeInputs, LieOnTheHostAndDecideShapes) {
  Reshaped session;
  session.with_profile();
  ASSERT_TRUE(session.build());
  ICudaEngine& engine = *session.engine;
  EXPECT_TRUE(engine.isShapeInferenceIO("shape"));
  EXPECT_FALSE(engine.isShapeInferenceIO("x"));
  EXPECT_FALSE(engine.isShapeInferenceIO("y"));
  EXPECT_EQ(engine.getTensorLocation("shape"), TensorLocation::kHOST);
  EXPECT_EQ(engine.getTensorLocation("x"), TensorLocation::kDEVICE);
  IExecutionContext& context = *session.context;
  EXPECT_FALSE(context.allInputShapesSpecified());
  const char* names[2] = {};
  EXPECT_EQ(context.inferShapes(2, names), 2);
  EXPECT_STREQ(names[0], "x");
  EXPECT_STREQ(names[1], "shape");
  EXPECT_TRUE(context.setInputShape("x", dims({2, 6})));
  EXPECT_EQ(context.inferShapes(1, names), 1);
  EXPECT_STREQ(names[0], "shape");
  EXPECT_EQ(context.inferShapes(0, nullptr), 1);
  I64 shape = {3, 4};
  EXPECT_TRUE(context.setInputTensorAddress("shape", shape.data()));
  EXPECT_TRUE(context.allInputShapesSpecified());
  EXPECT_EQ(context.inferShapes(2, names), 0) << session.log.text();
  EXPECT_EQ(extents_of(context.getTensorShape("y")), (I64{3, 4}));
  F x(12);
  std::iota(x.begin(), x.end(), 0.0F);
  Memory in(48), out(48);
  std::memcpy(in.data(), x.data(), 48);
  EXPECT_TRUE(context.setTensorAddress("x", in.data()));
  EXPECT_TRUE(context.setTensorAddress("y", out.data()));
  for (const I64& next : {I64{3, 4}, I64{12, 1}, I64{1, 12}}) {
    std::copy(next.begin(), next.end(), shape.begin());
    ASSERT_TRUE(context.enqueueV3(nullptr)) << session.log.text();
    EXPECT_EQ(extents_of(context.getTensorShape("y")), next);
    if (gpu() != nullptr) {
      ASSERT_TRUE(gpu()->synchronize(cudaStream_t{}));
    }
    EXPECT_EQ(reinterpret_cast<float*>(out.data())[11], -11);
  }
}

TEST(ShapeInputs, AreKeptInProfilesAndPlans) {
  Reshaped session(DataType::kINT32);
  const IOptimizationProfile* profile = session.with_profile();
  EXPECT_EQ(profile->getNbShapeValues("shape"), 2);
  EXPECT_EQ(profile->getShapeValuesV2("shape", OptProfileSelector::kOPT)[1], 3);
  ASSERT_TRUE(session.build());
  const ICudaEngine& engine = *session.engine;
  const auto* opt = engine.getProfileTensorValuesV2("shape", 0, OptProfileSelector::kOPT);
  ASSERT_NE(opt, nullptr);
  EXPECT_EQ(opt[0], 8);
  EXPECT_EQ(opt[1], 3);
  const auto* max = engine.getProfileTensorValues("shape", 0, OptProfileSelector::kMAX);
  ASSERT_NE(max, nullptr);
  EXPECT_EQ(max[1], 24);
  EXPECT_EQ(engine.getProfileTensorValuesV2("x", 0, OptProfileSelector::kOPT), nullptr);
  EXPECT_EQ(extents_of(engine.getProfileShape("shape", 0, OptProfileSelector::kMAX)), I64{2});
  EXPECT_EQ(session.log.text(), "");
  EXPECT_EQ(engine.getProfileTensorValuesV2("shape", 1, OptProfileSelector::kOPT), nullptr);
  EXPECT_TRUE(session.log.complained("profile 1"));
  EXPECT_EQ(engine.getProfileTensorValuesV2("z", 0, OptProfileSelector::kOPT), nullptr);
  EXPECT_TRUE(session.log.complained("'z'"));
}

TEST(ShapeInputs, WrongNumbersAreErrors) {
  Reshaped session;
  session.with_profile();
  ASSERT_TRUE(session.build());
  IExecutionContext& context = *session.context;
  EXPECT_TRUE(context.setInputShape("x", dims({2, 6})));
  I64 shape = {3, 25};
  EXPECT_TRUE(context.setInputTensorAddress("shape", shape.data()));
  EXPECT_EQ(context.inferShapes(0, nullptr), -1);
  EXPECT_TRUE(session.log.complained("outside the profile's range 1 to 24"));
  // Twelve numbers do not fill 3 x 5.
  shape = {3, 5};
  Memory in(1024), out(1024);
  EXPECT_TRUE(context.setTensorAddress("x", in.data()));
  EXPECT_TRUE(context.setTensorAddress("y", out.data()));
  EXPECT_FALSE(context.enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("[3,5]"));
  shape = {6, 2};
  EXPECT_TRUE(context.enqueueV3(nullptr)) << session.log.text();
  EXPECT_TRUE(context.setInputTensorAddress("shape", nullptr));
  EXPECT_FALSE(context.enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("'shape'"));
}

TEST(ShapeInputs, ProfilesAreChecked) {
  Reshaped session;
  IOptimizationProfile* profile = session.builder->createOptimizationProfile();
  const I64 values[] = {{4, 4}, {3, 3}, {5, 5}};
  for (int i = 0; i < 3; ++i) {
    const auto select = static_cast<OptProfileSelector>(i);
    profile->setDimensions("x", select, dims({2, 6}));
    profile->setShapeValuesV2("shape", select, values[i].data(), 2);
  }
  EXPECT_FALSE(profile->isValid()) << "the usual value lies below the smallest";
  Reshaped counted;
  IOptimizationProfile* three = counted.builder->createOptimizationProfile();
  for (int i = 0; i < 3; ++i) {
    const auto select = static_cast<OptProfileSelector>(i);
    three->setDimensions("x", select, dims({2, 6}));
    const I64 numbers = {1, 2, 3};
    three->setShapeValuesV2("shape", select, numbers.data(), 3);
  }
  EXPECT_GE(counted.config->addOptimizationProfile(three), 0);
  const std::unique_ptr<IHostMemory> plan(
      counted.builder->buildSerializedNetwork(*counted.network, *counted.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(counted.log.complained("has 2 elements, 3 values"));
}

TEST(ShapeInputs, WithoutValuesTheyAreData) {
  Reshaped session;
  session.profile("x", {1, 6}, {4, 6}, {8, 6});
  ASSERT_TRUE(session.build());
  EXPECT_FALSE(session.engine->isShapeInferenceIO("shape"));
  Arrays y =
      session.run({{"x", floats({1, 6}, {1, 2, 3, 4, 5, 6})}, {"shape", integers({2}, {3, 2})}});
  EXPECT_EQ(y["y"].extents, (I64{3, 2}));
}

/// Scalars too: y = the numbers from 0 to "n".
TEST(ShapeInputs, MayBeScalars) {
  Session session;
  ITensor* n = session.input("n", DataType::kINT64, {});
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 3});
  IShuffleLayer* row = session.network->addShuffle(*n);
  row->setReshapeDimensions(dims({1}));
  ITensor* parts[] = {row->getOutput(0), session.constant64({1}, {3})};
  ITensor* size = session.network->addConcatenation(parts, 2)->getOutput(0);
  ISliceLayer* slice = session.network->addSlice(*x, dims({0, 0}), dims({1, 3}), dims({1, 1}));
  slice->setMode(SampleMode::kWRAP);
  slice->setInput(2, *size);
  session.output(slice->getOutput(0), "y");
  EXPECT_TRUE(n->isShapeTensor());
  IOptimizationProfile* profile = session.builder->createOptimizationProfile();
  for (int i = 0; i < 3; ++i) {
    const int64_t value = 1 + 2 * i;
    EXPECT_TRUE(profile->setShapeValuesV2("n", static_cast<OptProfileSelector>(i), &value, 1));
  }
  EXPECT_GE(session.config->addOptimizationProfile(profile), 0);
  ASSERT_TRUE(session.build());
  Arrays y = session.run({{"x", floats({1, 3}, {1, 2, 3})}, {"n", integers({}, {2})}});
  EXPECT_EQ(y["y"].values<float>(), (F{1, 2, 3, 1, 2, 3}));
}

}  // namespace
}  // namespace api_test
