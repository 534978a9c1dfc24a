// Files that repeat a build that failed.
#include <cstdlib>
#include <filesystem>

#include "harness.h"

namespace api_test {
namespace {

namespace fs = std::filesystem;

class Reproducers : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { unsetenv("TENON_REPRODUCERS"); }

  /// The errors of a build for the CPU, a tensor of which no memory holds.
  static std::string errors_of_build() {
    constexpr int64_t kMany = 1 << 20;
    Session session;
    session.network->setName("an outer sum");
    ITensor* x = session.input("x", DataType::kFLOAT, {-1, 1});
    ITensor* y = session.input("y", DataType::kFLOAT, {1, kMany});
    ITensor* sum =
        session.network->addElementWise(*x, *y, ElementWiseOperation::kSUM)->getOutput(0);
    session.output(session.network->addSoftMax(*sum)->getOutput(0), "z");
    IOptimizationProfile* profile = session.builder->createOptimizationProfile();
    for (const auto& [which, rows] :
         {std::pair(OptProfileSelector::kMIN, kMany / 2),
          std::pair(OptProfileSelector::kOPT, kMany), std::pair(OptProfileSelector::kMAX, kMany)})
      profile->setDimensions("x", which, dims({rows, 1}));
    session.config->addOptimizationProfile(profile);
    session.config->setFlag(BuilderFlag::kBF16);
    session.config->setTacticSources(0);
    session.config->setBuilderOptimizationLevel(2);
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    EXPECT_EQ(plan, nullptr);
    return session.log.text();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "reproducers";
};

TEST_F(Reproducers, AreTheNetworkAndACommand) {
  setenv("TENON_REPRODUCERS", folder_.c_str(), 1);
  const std::string errors = errors_of_build();
  EXPECT_TRUE(fs::exists(folder_ / "an_outer_sum.onnx")) << errors;
  for (const char* words :
       {"repeat it by: tenon build ", "an_outer_sum.onnx --device=-1",
        "--builderOptimizationLevel=2", "--bf16", "--tacticSources=-CUDNN,-CUBLAS_LT",
        "--minShapes=x:524288x1", "--optShapes=x:1048576x1 --maxShapes=x:1048576x1"})
    EXPECT_NE(errors.find(words), std::string::npos) << words << "\n" << errors;
  errors_of_build();
  EXPECT_TRUE(fs::exists(folder_ / "an_outer_sum.2.onnx")) << "the first one is kept";
}

TEST_F(Reproducers, AreLeftWhereTheyAreAskedForAlone) {
  EXPECT_EQ(errors_of_build().find("repeat it by"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Reproducers, ThatCannotBeWrittenSaySo) {
  setenv("TENON_REPRODUCERS", "/proc/none", 1);
  const std::string errors = errors_of_build();
  EXPECT_NE(errors.find("was not kept in '/proc/none'"), std::string::npos) << errors;
}

}  // namespace
}  // namespace api_test
