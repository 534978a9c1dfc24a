// Applications may set a locale of their own.
#include "../comma_locale.h"
#include "harness.h"

namespace api_test {
namespace {

/// y: max(0, min(1, 0.25 x + 0.125)), then that times 1234.5; z: x normalized, by a layer whose
/// numbers descriptions show.
struct Reals : Session {
  Reals() {
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    ITensor* x = input("x", DataType::kFLOAT, {1, 3, 500, 1});
    auto* gate = network->addActivation(*x, ActivationType::kHARD_SIGMOID);
    gate->setAlpha(0.25F), gate->setBeta(0.125F);
    auto* product = network->addElementWise(*gate->getOutput(0), *constant({1, 1, 1, 1}, {1234.5F}),
                                            ElementWiseOperation::kPROD);
    output(product->getOutput(0), "y");
    output(network->addLRN(*x, 3, 0.75F, 0.5F, 1.0F)->getOutput(0), "z");
  }

  std::string description() const {
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    return inspector->getEngineInformation(LayerInformationFormat::kJSON);
  }
  std::vector<float> result(const char* name) {
    return run({{"x", floats({1, 3, 500, 1}, std::vector<float>(1500, 0.5F))}})[name]
        .values<float>();
  }
};

TEST(Locale, OfTheApplicationChangesNoNumbers) {
  Reals plain;
  ASSERT_TRUE(plain.build());
  const std::string description = plain.description();
  ASSERT_NE(description.find("0.75"), std::string::npos) << description;
  const std::vector<float> expected(1500, 308.625F);
  EXPECT_EQ(plain.result("y"), expected);

  const CommaLocale comma;
  if (!comma.complete()) GTEST_SKIP() << "no locale with a decimal comma can be made here";
  EXPECT_EQ(plain.description(), description);
  Reals other;
  ASSERT_TRUE(other.build());
  EXPECT_EQ(other.description(), description);
  EXPECT_EQ(other.result("y"), expected);
  EXPECT_EQ(other.result("z"), plain.result("z"));
  other.engine.reset(other.runtime->deserializeCudaEngine(plain.plan->data(), plain.plan->size()));
  ASSERT_NE(other.engine, nullptr);
  EXPECT_EQ(other.description(), description);
}

}  // namespace
}  // namespace api_test
