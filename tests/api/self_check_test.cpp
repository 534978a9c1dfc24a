// Builds that check themselves, as programs ask for it.
#include <tenon/passes.h>
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

TEST(SelfCheck, LoopsOfAConstantNumberOfTripsAreChecked) {
  for (const bool counted : {true, false}) {
    Session s;
    ITensor* x = s.input("x", DataType::kFLOAT, {2});
    ILoop* loop = s.network->addLoop();
    ITensor* trips = counted ? s.constant32({}, {5}) : s.input("trips", DataType::kINT32, {});
    loop->addTripLimit(*trips, TripLimit::kCOUNT);
    IRecurrenceLayer* state = loop->addRecurrence(*x);
    ITensor* value = state->getOutput(0);
    auto* sum = s.network->addElementWise(*value, *value, ElementWiseOperation::kSUM);
    state->setInput(1, *sum->getOutput(0));
    s.output(loop->addLoopOutput(*value, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(tenon::disablePasses(*s.config, "unroll_loops", s.log));
    ASSERT_TRUE(s.build());
    EXPECT_STREQ(tenon::getSelfCheckResult(*s.engine),
                 counted ? "passed"
                         : "not done: plugins, loops or shapes that depend on data may take any "
                           "time");
  }
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
