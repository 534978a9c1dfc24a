// Collectives among ranks, over a driver and a NCCL that only pretend.
#include <thread>

#include "fake_nccl.h"
#include "harness.h"
#include "tenon/self_check.h"

namespace api_test {
namespace {

using Values = std::vector<float>;

/// y = collective(x) of [2, 2].
struct Collectives : Session {
  explicit Collectives(CollectiveOperation operation, std::vector<int64_t> group = {},
                       int64_t root = 0, int32_t ranks = 1,
                       ReduceOperation reduction = ReduceOperation::kSUM) {
    ITensor* x = input("x", DataType::kFLOAT, {2, 2});
    IDistCollectiveLayer* layer = network->addDistCollective(
        *x, operation, reduction, root, group.data(), static_cast<int64_t>(group.size()));
    EXPECT_NE(layer, nullptr) << log.text();
    EXPECT_TRUE(layer->setNbRanks(ranks));
    EXPECT_EQ(layer->getNbRanks(), ranks);
    output(layer->getOutput(0), "y");
    tenon::setBuildDevice(*config, 0);
  }
  /// The results of the ranks: x is rank + 1, 10 (rank + 1), 2, -rank.
  std::vector<Values> run_among(int ranks) {
    const FakeRanks all(ranks);
    const Dims shape = engine->getTensorShape("y");
    std::vector<Values> x,
        y(static_cast<size_t>(ranks), Values(static_cast<size_t>(shape.d[0] * 2)));
    std::vector<std::unique_ptr<IExecutionContext>> contexts;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto one = static_cast<float>(rank + 1);
      x.push_back({one, 10 * one, 2, 1 - one});
      contexts.emplace_back(engine->createExecutionContext());
      EXPECT_TRUE(contexts.back()->setCommunicator(all[rank])) << log.text();
    }
    for (size_t rank = 0; rank < contexts.size(); ++rank)
      threads.emplace_back([&, rank] {
        IExecutionContext& own = *contexts[rank];
        EXPECT_TRUE(own.setTensorAddress("x", x[rank].data()) &&
                    own.setTensorAddress("y", y[rank].data()));
        for (int i = 0; i < 2; ++i) EXPECT_TRUE(own.enqueueV3(nullptr)) << log.text();
      });
    for (std::thread& thread : threads) thread.join();
    return y;
  }
};

struct Row {
  CollectiveOperation operation;
  ReduceOperation reduction;
  std::vector<Values> expected;
};

class EachCollective : public testing::TestWithParam<Row> {};

TEST_P(EachCollective, IsRunAmongTwoRanks) {
  const auto& [operation, reduction, expected] = GetParam();
  Collectives session(operation, {}, 1, 2, reduction);
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(session.run_among(2), expected) << session.log.text();
  EXPECT_EQ(fake_communicators(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Collective, EachCollective,
    testing::Values(
        Row{CollectiveOperation::kALL_REDUCE,
            ReduceOperation::kSUM,
            {{3, 30, 4, -1}, {3, 30, 4, -1}}},
        Row{CollectiveOperation::kALL_REDUCE,
            ReduceOperation::kPROD,
            {{2, 200, 4, 0}, {2, 200, 4, 0}}},
        Row{CollectiveOperation::kALL_REDUCE,
            ReduceOperation::kMAX,
            {{2, 20, 2, 0}, {2, 20, 2, 0}}},
        Row{CollectiveOperation::kALL_REDUCE,
            ReduceOperation::kMIN,
            {{1, 10, 2, -1}, {1, 10, 2, -1}}},
        Row{CollectiveOperation::kALL_REDUCE,
            ReduceOperation::kAVG,
            {{1.5F, 15, 2, -0.5F}, {1.5F, 15, 2, -0.5F}}},
        Row{CollectiveOperation::kALL_GATHER,
            ReduceOperation::kNONE,
            {{1, 10, 2, 0, 2, 20, 2, -1}, {1, 10, 2, 0, 2, 20, 2, -1}}},
        Row{CollectiveOperation::kBROADCAST,
            ReduceOperation::kNONE,
            {{2, 20, 2, -1}, {2, 20, 2, -1}}},
        Row{CollectiveOperation::kREDUCE, ReduceOperation::kSUM, {{1, 10, 2, 0}, {3, 30, 4, -1}}},
        Row{CollectiveOperation::kREDUCE_SCATTER, ReduceOperation::kSUM, {{3, 30}, {4, -1}}}));

TEST(Collective, AGroupLeavesTheOthersOut) {
  Collectives sum(CollectiveOperation::kALL_REDUCE, {2, 0});
  ASSERT_TRUE(sum.build()) << sum.log.text();
  EXPECT_EQ(sum.run_among(3),
            (std::vector<Values>{{4, 40, 4, -2}, {2, 20, 2, -1}, {4, 40, 4, -2}}));
  Collectives spread(CollectiveOperation::kBROADCAST, {2, 0}, 2);
  ASSERT_TRUE(spread.build());
  EXPECT_EQ(spread.run_among(3),
            (std::vector<Values>{{3, 30, 2, -2}, {2, 20, 2, -1}, {3, 30, 2, -2}}));
  EXPECT_EQ(fake_communicators(), 0) << "parts of a communicator are left";
}

TEST(Collective, APlanKeepsIt) {
  Collectives session(CollectiveOperation::kALL_GATHER, {}, 0, 2);
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  ASSERT_NE(plan, nullptr) << session.log.text();
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(session.log));
  session.engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  EXPECT_EQ(session.run_among(2)[1], (Values{1, 10, 2, 0, 2, 20, 2, -1}));
  session.engine.reset();
}

TEST(Collective, OneRankCopiesWithoutACommunicator) {
  Collectives session(CollectiveOperation::kALL_REDUCE);
  ASSERT_TRUE(session.build()) << session.log.text();
  Values x = {1, 2, 3, 4}, y(4);
  EXPECT_TRUE(session.context->setTensorAddress("x", x.data()) &&
              session.context->setTensorAddress("y", y.data()));
  EXPECT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  EXPECT_EQ(y, x);
}

TEST(Collective, ACommunicatorThatDoesNotFitIsAnError) {
  Collectives session(CollectiveOperation::kALL_GATHER, {}, 0, 2);
  ASSERT_TRUE(session.build()) << session.log.text();
  Values x(4), y(8);
  EXPECT_TRUE(session.context->setTensorAddress("x", x.data()) &&
              session.context->setTensorAddress("y", y.data()));
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("setCommunicator")) << session.log.text();
  const FakeRanks alone(1);
  EXPECT_TRUE(session.context->setCommunicator(alone[0]));
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("the communicator has 1")) << session.log.text();
}

TEST(Collective, RowsThatCannotBeScatteredAreAnError) {
  Collectives session(CollectiveOperation::kREDUCE_SCATTER, {}, 0, 3);
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(session.log.complained("2 rows cannot be scattered to 3")) << session.log.text();
}

TEST(Collective, APlanWithoutOneIsTold) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  session.output(session.network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0), "y");
  tenon::setBuildDevice(*session.config, 0);
  ASSERT_TRUE(session.build());
  const FakeRanks ranks(2);
  EXPECT_TRUE(session.context->setCommunicator(ranks[0]));
  EXPECT_NE(session.log.warnings.size(), 0U);
}

/// One head of attention over sequences of vectors of two numbers.
struct SharedAttention : Session {
  explicit SharedAttention(bool causal = false) {
    ITensor* x[3];
    for (int i = 0; i < 3; ++i) x[i] = input(names[i], DataType::kFLOAT, {1, 1, 2, 2});
    attention =
        network->addAttention(*x[0], *x[1], *x[2], AttentionNormalizationOp::kSOFTMAX, causal);
    output(attention->getOutput(0), "y");
    tenon::setBuildDevice(*config, 0);
    tenon::setSelfCheck(*config, false);  // Kernels do nothing.
  }
  static constexpr const char* names[] = {"q", "k", "v"};
  IAttention* attention;
};

TEST(Collective, AttentionOfTwoRanksGathersKeysAndValues) {
  SharedAttention session;
  EXPECT_EQ(session.attention->getNbRanks(), 1);
  EXPECT_TRUE(session.attention->setNbRanks(2));
  EXPECT_EQ(session.attention->getNbRanks(), 2);
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(extents_of(session.engine->getTensorShape("y")), (std::vector<int64_t>{1, 1, 2, 2}));
  const FakeRanks all(2), alone(1);
  Values x(4), y[2] = {Values(4), Values(4)};
  std::unique_ptr<IExecutionContext> contexts[2];
  const auto begin = [&](int rank, void* communicator) {
    contexts[rank].reset(session.engine->createExecutionContext());
    for (const char* name : SharedAttention::names)
      EXPECT_TRUE(contexts[rank]->setTensorAddress(name, x.data()));
    EXPECT_TRUE(contexts[rank]->setTensorAddress("y", y[rank].data()));
    EXPECT_TRUE(contexts[rank]->setCommunicator(communicator));
  };
  begin(0, alone[0]);
  EXPECT_FALSE(contexts[0]->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("the communicator has 1")) << session.log.text();
  for (int rank = 0; rank < 2; ++rank) begin(rank, all[rank]);
  // A call of NCCL returns when both ranks have made it.
  std::thread other([&] { EXPECT_TRUE(contexts[1]->enqueueV3(nullptr)) << session.log.text(); });
  EXPECT_TRUE(contexts[0]->enqueueV3(nullptr)) << session.log.text();
  other.join();
}

TEST(Collective, CausalAttentionOfSeveralRanksIsRefused) {
  SharedAttention session(true);
  EXPECT_FALSE(session.attention->setNbRanks(0));
  EXPECT_TRUE(session.log.complained("at least one rank"));
  EXPECT_TRUE(session.attention->setNbRanks(2));
  session.plan.reset(session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(session.plan, nullptr);
  EXPECT_TRUE(session.log.complained("a causal one runs on one device")) << session.log.text();
}

}  // namespace
}  // namespace api_test
