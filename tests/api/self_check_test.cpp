// Builds that check themselves, as programs ask for it.
#include <tenon/self_check.h>

#include "harness.h"

namespace api_test {
namespace {

struct Small : Session {
  Small() {
    ITensor* x = input("x", DataType::kFLOAT, {2, 3});
    ITensor* e = network->addUnary(*x, UnaryOperation::kEXP)->getOutput(0);
    auto* softmax = network->addSoftMax(*e);
    softmax->setAxes(2);
    output(softmax->getOutput(0), "y");
  }
};

TEST(SelfCheck, TellsWhatItFound) {
  Small s;
  EXPECT_TRUE(tenon::setSelfCheck(*s.config, true));
  EXPECT_TRUE(tenon::setRegionCheck(*s.config, true));
  EXPECT_TRUE(tenon::allowFailedSelfCheck(*s.config, false));
  ASSERT_TRUE(s.build());
  EXPECT_STREQ(tenon::getSelfCheckResult(*s.engine), "passed");
  EXPECT_EQ(s.log.warnings, std::vector<std::string>());
}

TEST(SelfCheck, IsNotDoneWhereItIsOffOrCostsTooMuch) {
  Small off;
  tenon::setRegionCheck(*off.config, true);
  EXPECT_TRUE(tenon::setSelfCheck(*off.config, false));
  ASSERT_TRUE(off.build());
  EXPECT_STREQ(tenon::getSelfCheckResult(*off.engine), "");
  Small cheap;
  EXPECT_TRUE(tenon::setSelfCheck(*cheap.config, true, 1));
  ASSERT_TRUE(cheap.build());
  EXPECT_STREQ(tenon::getSelfCheckResult(*cheap.engine),
               "not done: the model is too large for the reference");
}

}  // namespace
}  // namespace api_test
