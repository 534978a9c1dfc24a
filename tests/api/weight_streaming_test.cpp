// Weight streaming where weights are read where they lie: its figures agree, and it says that it
// has no effect.
#include "harness.h"
#include "recorder.h"

namespace api_test {
namespace {

/// y = x w, with 64 KiB of weights.
struct Streamed : Session {
  explicit Streamed(bool streamed)
      : Session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)) {
    ITensor* w = constant({128, 128}, std::vector<float>(128 * 128, 0.5F));
    ITensor* x = input("x", DataType::kFLOAT, {1, 128});
    output(network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
               ->getOutput(0),
           "y");
    if (streamed) config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  }
};
constexpr int64_t kBytes = 128 * 128 * 4;

TEST(WeightStreaming, FiguresAgree) {
  Streamed session(true);
  ASSERT_TRUE(session.build());
  ICudaEngine& engine = *session.engine;
  const int64_t size = engine.getStreamableWeightsSize();
  EXPECT_GE(size, kBytes);
  EXPECT_EQ(engine.getWeightStreamingBudgetV2(), size) << "not asked for";
  EXPECT_EQ(engine.getWeightStreamingBudget(), 0);
  EXPECT_GE(engine.getMinimumWeightStreamingBudget(), kBytes);
  EXPECT_LE(engine.getMinimumWeightStreamingBudget(), size);
  EXPECT_EQ(engine.getWeightStreamingAutomaticBudget(), size);
  EXPECT_EQ(engine.getWeightStreamingScratchMemorySize(), 0);
  session.log.warnings.clear();
  EXPECT_TRUE(engine.setWeightStreamingBudgetV2(size / 2));
  EXPECT_EQ(engine.getWeightStreamingBudgetV2(), size / 2);
  ASSERT_EQ(session.log.warnings.size(), 1U);
  EXPECT_NE(session.log.warnings[0].find("has no effect: the CPU reads weights"),
            std::string::npos);
  EXPECT_TRUE(engine.setWeightStreamingBudgetV2(2 * size));
  EXPECT_EQ(engine.getWeightStreamingBudgetV2(), size) << "more than there is means all";
  EXPECT_FALSE(engine.setWeightStreamingBudgetV2(-1));
  EXPECT_TRUE(session.log.complained("setWeightStreamingBudgetV2(-1)"));
  EXPECT_FALSE(engine.setWeightStreamingBudget(1));
  EXPECT_TRUE(session.log.complained("the least is"));
  EXPECT_TRUE(engine.setWeightStreamingBudget(-1));
  EXPECT_TRUE(engine.setWeightStreamingBudgetV2(0));
  const std::vector<float> x(128, 1.0F);
  expect_near(session.run({{"x", floats({1, 128}, x)}})["y"], std::vector<float>(128, 64.0F));
}

TEST(WeightStreaming, PlansWithoutItHaveNothingToStream) {
  Streamed session(false);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(session.engine->getStreamableWeightsSize(), 0);
  EXPECT_EQ(session.engine->getMinimumWeightStreamingBudget(), 0);
  EXPECT_EQ(session.engine->getWeightStreamingBudgetV2(), 0);
  EXPECT_FALSE(session.engine->setWeightStreamingBudgetV2(1));
  EXPECT_TRUE(session.log.complained("built with kWEIGHT_STREAMING"));
}

TEST(WeightStreaming, NeedsAStronglyTypedNetwork) {
  Session session;
  session.output(
      session.network->addIdentity(*session.input("x", DataType::kFLOAT, {2}))->getOutput(0), "y");
  session.config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("kWEIGHT_STREAMING requires a strongly typed network"));
}

}  // namespace
}  // namespace api_test
