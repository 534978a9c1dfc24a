// Loops and conditionals built by calls.
#include <tenon/runtime.h>
#include <tenon/self_check.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

TEST(Loop, CountsWithRecurrenceAndIterator) {
  // y = sum of the rows of x; and every partial sum.
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3, 2});
  ILoop* loop = session.network->addLoop();
  loop->setName("rows");
  ITensor* trips = session.constant32({}, {3});
  loop->addTripLimit(*trips, TripLimit::kCOUNT);
  IIteratorLayer* rows = loop->addIterator(*x);
  IRecurrenceLayer* sum = loop->addRecurrence(*session.constant({2}, {0, 0}));
  auto* next = session.network->addElementWise(*sum->getOutput(0), *rows->getOutput(0),
                                               ElementWiseOperation::kSUM);
  sum->setInput(1, *next->getOutput(0));
  EXPECT_EQ(extents_of(rows->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
  session.output(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
  ILoopOutputLayer* all = loop->addLoopOutput(*next->getOutput(0), LoopOutput::kCONCATENATE, 0);
  all->setInput(1, *trips);
  EXPECT_EQ(extents_of(all->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 2}));
  session.output(all->getOutput(0), "all");
  ILoopOutputLayer* back = loop->addLoopOutput(*next->getOutput(0), LoopOutput::kREVERSE, 1);
  back->setInput(1, *trips);
  session.output(back->getOutput(0), "back");
  EXPECT_EQ(rows->getLoop(), loop);
  Arrays outputs = session.run({{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}});
  expect_near(outputs["y"], {9, 12});
  expect_near(outputs["all"], {1, 2, 4, 6, 9, 12});
  EXPECT_EQ(outputs["back"].extents, (std::vector<int64_t>{2, 3}));
  expect_near(outputs["back"], {9, 4, 1, 12, 6, 2});
}

TEST(Loop, RunsBackwards) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 3});
  ILoop* loop = session.network->addLoop();
  ITensor* trips = session.constant32({}, {3});
  loop->addTripLimit(*trips, TripLimit::kCOUNT);
  IIteratorLayer* columns = loop->addIterator(*x, 1, true);
  auto* all = loop->addLoopOutput(*columns->getOutput(0), LoopOutput::kCONCATENATE, 1);
  all->setInput(1, *trips);
  session.output(all->getOutput(0), "y");
  expect_near(session.run({{"x", floats({2, 3}, {0, 1, 2, 3, 4, 5})}})["y"], {2, 1, 0, 5, 4, 3});
}

/// Doubles x until its sum is at least 100: never for zeros.
ITensor* add_doubling(Session& session, ITensor& x) {
  ILoop* loop = session.network->addLoop();
  IRecurrenceLayer* state = loop->addRecurrence(x);
  ITensor* value = state->getOutput(0);
  auto* sum = session.network->addReduce(*value, ReduceOperation::kSUM, 1, false);
  auto* small = session.network->addElementWise(*sum->getOutput(0), *session.constant({}, {100}),
                                                ElementWiseOperation::kLESS);
  loop->addTripLimit(*small->getOutput(0), TripLimit::kWHILE);
  auto* doubled = session.network->addElementWise(*value, *value, ElementWiseOperation::kSUM);
  state->setInput(1, *doubled->getOutput(0));
  return loop->addLoopOutput(*value, LoopOutput::kLAST_VALUE)->getOutput(0);
}

TEST(Loop, RunsWhileAConditionHolds) {
  // The condition is looked at before each iteration.
  for (const float start : {3.0F, 200.0F}) {
    Session session;
    session.output(add_doubling(session, *session.input("x", DataType::kFLOAT, {2})), "y");
    float expected = start;
    while (2 * expected < 100) expected *= 2;
    expect_near(session.run({{"x", floats({2}, {start, start})}})["y"], {expected, expected});
  }
}

TEST(Loop, WithoutAnEndIsStoppedByTheApplication) {
  Session session;
  session.output(add_doubling(session, *session.input("x", DataType::kFLOAT, {2})), "y");
  tenon::setSelfCheck(*session.config, false);
  ASSERT_TRUE(session.build());
  int asked = 0;
  const auto after_fifty = [](void* count) noexcept { return ++*static_cast<int*>(count) > 50; };
  EXPECT_TRUE(tenon::setStopFunction(*session.context, after_fifty, &asked));
  EXPECT_FALSE(session.try_run({{"x", floats({2}, {0, 0})}}));
  EXPECT_TRUE(session.log.complained("was stopped"));
  EXPECT_EQ(asked, 51);
  // The context goes on.
  asked = 0;
  expect_near(session.run({{"x", floats({2}, {3, 3})}})["y"], {96, 96});
  EXPECT_TRUE(tenon::setStopFunction(*session.context, nullptr, nullptr));
  asked = 0;
  expect_near(session.run({{"x", floats({2}, {3, 3})}})["y"], {96, 96});
  EXPECT_EQ(asked, 0);
}

/// Says no in the phase of that name.
class Refusal final : public IProgressMonitor {
 public:
  void phaseStart(const char* phase, const char*, int32_t) noexcept override {
    const std::lock_guard lock(mutex_);
    open.push_back(phase);
  }
  bool stepComplete(const char* phase, int32_t) noexcept override {
    return std::string_view(phase) != "Checking the plan";
  }
  void phaseFinish(const char* phase) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase(open, std::string(phase));
  }
  std::vector<std::string> open;

 private:
  std::mutex mutex_;
};

/// A network that doubles its input as often as there are numbers.
void add_endless_doubling(Session& session) {
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  ILoop* loop = session.network->addLoop();
  loop->addTripLimit(*session.constant32({}, {INT32_MAX}), TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  ITensor* value = state->getOutput(0);
  auto* sum = session.network->addElementWise(*value, *value, ElementWiseOperation::kSUM);
  state->setInput(1, *sum->getOutput(0));
  session.output(loop->addLoopOutput(*value, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  // The self-check runs it, since it was told that anything may be compared.
  tenon::setSelfCheck(*session.config, true, INT64_MAX);
}

TEST(Loop, WithoutAnEndIsStoppedByTheMonitorOfABuild) {
  Session session;
  add_endless_doubling(session);
  Refusal monitor;
  session.config->setProgressMonitor(&monitor);
  session.plan.reset(session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(session.plan, nullptr);
  EXPECT_TRUE(session.log.complained("was stopped"));
  EXPECT_EQ(monitor.open, std::vector<std::string>()) << "phases that were not finished";
}

/// Says no after some seconds; keeps the longest silence, and messages out of order.
class Watcher final : public IProgressMonitor {
 public:
  void phaseStart(const char* phase, const char* parent, int32_t) noexcept override {
    hear();
    if ((parent == nullptr ? "" : parent) != (open.empty() ? "" : open.back()))
      wrong += std::string(phase) + " has another parent; ";
    open.emplace_back(phase);
    all.emplace_back(phase);
  }
  bool stepComplete(const char* phase, int32_t) noexcept override {
    hear();
    if (open.back() != phase) wrong += std::string("a step of ") + phase + "; ";
    return heard_ - begun_ < std::chrono::milliseconds(2500);
  }
  void phaseFinish(const char* phase) noexcept override {
    hear();
    if (open.back() != phase) wrong += std::string("the end of ") + phase + "; ";
    open.pop_back();
  }
  std::vector<std::string> open, all;
  std::string wrong;
  double longest = 0;

 private:
  using Clock = std::chrono::steady_clock;
  void hear() {
    const auto now = Clock::now();
    longest = std::max(longest, std::chrono::duration<double>(now - heard_).count());
    heard_ = now;
  }
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point heard_ = begun_;
};

TEST(Loop, IsAPhaseOfTheCheckForMonitors) {
  Session session;
  add_endless_doubling(session);
  Watcher monitor;
  session.config->setProgressMonitor(&monitor);
  session.plan.reset(session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(session.plan, nullptr);
  EXPECT_EQ(monitor.wrong, "");
  EXPECT_LT(monitor.longest, 1);
  EXPECT_EQ(monitor.all.front(), "Building the plan");
  EXPECT_NE(std::ranges::find(monitor.all, "Checking the plan"), monitor.all.end());
  EXPECT_EQ(monitor.open, std::vector<std::string>());
}

TEST(Loop, NestsAndCaptures) {
  // y = x + 2 * 3 * w, in two loops.
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1});
  ITensor* w = session.input("w", DataType::kFLOAT, {1});
  ILoop* outer = session.network->addLoop();
  outer->addTripLimit(*session.constant32({}, {2}), TripLimit::kCOUNT);
  IRecurrenceLayer* a = outer->addRecurrence(*x);
  ILoop* inner = session.network->addLoop();
  inner->addTripLimit(*session.constant32({}, {3}), TripLimit::kCOUNT);
  IRecurrenceLayer* b = inner->addRecurrence(*a->getOutput(0));
  auto* sum = session.network->addElementWise(*b->getOutput(0), *w, ElementWiseOperation::kSUM);
  b->setInput(1, *sum->getOutput(0));
  a->setInput(1, *inner->addLoopOutput(*b->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0));
  session.output(outer->addLoopOutput(*a->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
  expect_near(session.run({{"x", floats({1}, {1})}, {"w", floats({1}, {10})}})["y"], {61});
}

TEST(Loop, SaysWhatIsMissing) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1});
  ILoop* loop = session.network->addLoop();
  EXPECT_EQ(loop->addTripLimit(*x, static_cast<TripLimit>(7)), nullptr);
  EXPECT_TRUE(session.log.complained("addTripLimit"));
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  session.output(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("no trip limit"));
  loop->addTripLimit(*session.constant32({}, {3}), TripLimit::kCOUNT);
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("no next value"));
  state->setInput(1, *session.network->addIdentity(*state->getOutput(0))->getOutput(0));
  auto* leak = session.network->addUnary(*state->getOutput(0), UnaryOperation::kNEG);
  session.network->markOutput(*leak->getOutput(0));
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("outside"));
}

TEST(Conditional, ComputesTheChosenBranch) {
  for (const uint8_t chosen : {0, 1}) {
    Session session;
    ITensor* condition = session.input("condition", DataType::kBOOL, {});
    ITensor* x = session.input("x", DataType::kFLOAT, {2});
    IIfConditional* conditional = session.network->addIfConditional();
    conditional->setName("choice");
    EXPECT_NE(conditional->setCondition(*condition), nullptr);
    ITensor* gated = conditional->addInput(*x)->getOutput(0);
    auto* then = session.network->addElementWise(*gated, *gated, ElementWiseOperation::kSUM);
    auto* other = session.network->addUnary(*gated, UnaryOperation::kNEG);
    auto* result = conditional->addOutput(*then->getOutput(0), *other->getOutput(0));
    EXPECT_EQ(result->getConditional(), conditional);
    EXPECT_EQ(extents_of(result->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
    session.output(session.network->addIdentity(*result->getOutput(0))->getOutput(0), "y");
    const F expected = chosen != 0 ? F{2, 4} : F{-1, -2};
    expect_near(
        session.run({{"condition", booleans({}, {chosen})}, {"x", floats({2}, {1, 2})}})["y"],
        expected);
  }
}

TEST(Conditional, InsideALoop) {
  // Collatz steps of x, as floats.
  Session session;
  INetworkDefinition& network = *session.network;
  ITensor* x = session.input("x", DataType::kFLOAT, {});
  ILoop* loop = network.addLoop();
  ITensor* trips = session.constant32({}, {5});
  loop->addTripLimit(*trips, TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  ITensor* value = state->getOutput(0);
  ITensor *two = session.constant({}, {2}), *three = session.constant({}, {3}),
          *one = session.constant({}, {1});
  const auto binary = [&](ITensor* a, ITensor* b, ElementWiseOperation operation) {
    return network.addElementWise(*a, *b, operation)->getOutput(0);
  };
  ITensor* half = binary(value, two, ElementWiseOperation::kFLOOR_DIV);
  ITensor* even =
      binary(binary(half, two, ElementWiseOperation::kPROD), value, ElementWiseOperation::kEQUAL);
  IIfConditional* conditional = network.addIfConditional();
  conditional->setCondition(*even);
  ITensor* gated = conditional->addInput(*value)->getOutput(0);
  ITensor* down = binary(gated, two, ElementWiseOperation::kDIV);
  ITensor* up =
      binary(binary(gated, three, ElementWiseOperation::kPROD), one, ElementWiseOperation::kSUM);
  ITensor* next = conditional->addOutput(*down, *up)->getOutput(0);
  state->setInput(1, *next);
  auto* all = loop->addLoopOutput(*next, LoopOutput::kCONCATENATE);
  all->setInput(1, *trips);
  session.output(all->getOutput(0), "y");
  expect_near(session.run({{"x", floats({}, {6})}})["y"], {3, 10, 5, 16, 8});
}

}  // namespace
}  // namespace api_test
