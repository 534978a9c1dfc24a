// Which algorithms plans multiply by (tenon/numerics.h).
#include <tenon/numerics.h>

#include "harness.h"

namespace api_test {
namespace {

/// A 3x3 convolution for which Winograd's transform is the preferred kernel of the CPU.
struct Image : Session {
  Image() {
    tenon::setBuildDevice(*config, tenon::kCpuDevice);
    config->setBuilderOptimizationLevel(0);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    ITensor* x = input("x", DataType::kFLOAT, {1, 16, 14, 14});
    auto* conv = network->addConvolutionNd(*x, 16, dims({3, 3}),
                                           weights(std::vector<float>(16 * 16 * 9, 0.01F)), {});
    conv->setPaddingNd(dims({1, 1}));
    output(conv->getOutput(0), "y");
  }
  std::string information() const {
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    return inspector->getEngineInformation(LayerInformationFormat::kJSON);
  }
};

TEST(Numerics, LayersSayWhichTransformTheyUse) {
  Image s;
  EXPECT_EQ(tenon::getNumerics(*s.config), tenon::Numerics::kDefault);
  ASSERT_TRUE(s.build());
  EXPECT_EQ(tenon::getNumerics(*s.engine), tenon::Numerics::kDefault);
  EXPECT_NE(s.information().find("\"Algorithm\": \"Winograd\""), std::string::npos)
      << s.information();
}

TEST(Numerics, ExactPlansUseNone) {
  Image s;
  EXPECT_TRUE(tenon::setNumerics(*s.config, tenon::Numerics::kExact));
  EXPECT_EQ(tenon::getNumerics(*s.config), tenon::Numerics::kExact);
  ASSERT_TRUE(s.build());
  EXPECT_EQ(tenon::getNumerics(*s.engine), tenon::Numerics::kExact);
  EXPECT_EQ(s.information().find("inograd"), std::string::npos) << s.information();
}

TEST(Numerics, OtherValuesChangeNothing) {
  Image s;
  EXPECT_FALSE(tenon::setNumerics(*s.config, static_cast<tenon::Numerics>(2)));
  EXPECT_EQ(tenon::getNumerics(*s.config), tenon::Numerics::kDefault);
  tenon::setNumerics(*s.config, tenon::Numerics::kExact);
  s.config->reset();
  EXPECT_EQ(tenon::getNumerics(*s.config), tenon::Numerics::kDefault);
}

}  // namespace
}  // namespace api_test
