// Collectives and attention of two ranks by NCCL itself, one GPU a rank; skipped where there are
// not two.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "harness.h"

namespace api_test {
namespace {

constexpr int kRanks = 2;
using RankValues = std::vector<float>;

/// NCCL's communicators of two GPUs of this process.
class TwoRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu() == nullptr) GTEST_SKIP();  // The program says why.
    const std::string names = gpu()->describe().all;
    if (std::count(names.begin(), names.end(), '\n') + 1 < kRanks) GTEST_SKIP() << "one GPU";
    nccl_ = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (nccl_ == nullptr) GTEST_SKIP() << "no NCCL: " << dlerror();
    const auto init =
        reinterpret_cast<int (*)(void**, int, const int*)>(dlsym(nccl_, "ncclCommInitAll"));
    const int devices[kRanks] = {0, 1};
    ASSERT_EQ(init(communicators_, kRanks, devices), 0);
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_NE(gpus_[rank] = std::unique_ptr<tenon::IGpu>(tenon::openGpu(rank, log_)), nullptr)
          << log_.text();
  }
  void TearDown() override {
    for (void* communicator : communicators_)
      if (communicator != nullptr)
        reinterpret_cast<int (*)(void*)>(dlsym(nccl_, "ncclCommDestroy"))(communicator);
  }

  using Inputs = std::map<std::string, RankValues>;
  /// The values of "y" on each rank, each with inputs of its own; eight runs give the same.
  std::vector<RankValues> run(const IHostMemory& plan, const std::vector<Inputs>& inputs) {
    std::vector<RankValues> results(inputs.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      threads.emplace_back([&, rank] { results[rank] = run_rank(rank, plan, inputs); });
    for (std::thread& thread : threads) thread.join();
    return results;
  }

 private:
  RankValues run_rank(size_t rank, const IHostMemory& plan, const std::vector<Inputs>& inputs) {
    Log log;
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
    EXPECT_TRUE(tenon::setRunDevice(*runtime, static_cast<int32_t>(rank)));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (engine == nullptr) return ADD_FAILURE() << log.text(), RankValues{};
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    if (inputs.size() > 1) {
      EXPECT_TRUE(context->setCommunicator(communicators_[rank])) << log.text();
    }
    tenon::IGpu& device = *gpus_[rank];
    const cudaStream_t stream = device.createStream();
    std::vector<void*> memory;
    for (const auto& [name, values] : inputs[rank]) {
      memory.push_back(device.allocate(values.size() * 4));
      EXPECT_TRUE(device.copyAsync(memory.back(), values.data(), values.size() * 4, stream));
      EXPECT_TRUE(context->setTensorAddress(name.c_str(), memory.back()));
    }
    int64_t count = 1;
    for (const int64_t extent : extents_of(engine->getTensorShape("y"))) count *= extent;
    RankValues first, result(static_cast<size_t>(count));
    memory.push_back(device.allocate(result.size() * 4));
    EXPECT_TRUE(context->setTensorAddress("y", memory.back()));
    for (int i = 0; i < 8; ++i) {
      std::fill(result.begin(), result.end(), NAN);
      EXPECT_TRUE(device.copyAsync(memory.back(), result.data(), result.size() * 4, stream));
      EXPECT_TRUE(context->enqueueV3(stream)) << log.text();
      EXPECT_TRUE(device.copyAsync(result.data(), memory.back(), result.size() * 4, stream));
      EXPECT_TRUE(device.synchronize(stream));
      if (i == 0) first = result;
      EXPECT_EQ(result, first) << "run " << i;
    }
    for (void* made : memory) device.destroy(made);
    device.destroy(stream);
    return first;
  }

  Log log_;
  void *nccl_ = nullptr, *communicators_[kRanks] = {};
  std::unique_ptr<tenon::IGpu> gpus_[kRanks];
};

struct RankRow {
  CollectiveOperation operation;
  ReduceOperation reduction;
  std::vector<RankValues> expected;  ///< Empty: not told by the operation.
};

TEST_F(TwoRanks, RunEachCollective) {
  const std::vector<Inputs> inputs = {{{"x", {1, 10, 2, 0}}}, {{"x", {2, 20, 2, -1}}}};
  // Of twice the inputs; the root is rank 1.
  const RankRow rows[] = {
      {CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, {{6, 60, 8, -2}, {6, 60, 8, -2}}},
      {CollectiveOperation::kALL_REDUCE,
       ReduceOperation::kPROD,
       {{8, 800, 16, 0}, {8, 800, 16, 0}}},
      {CollectiveOperation::kALL_REDUCE, ReduceOperation::kMAX, {{4, 40, 4, 0}, {4, 40, 4, 0}}},
      {CollectiveOperation::kALL_REDUCE, ReduceOperation::kMIN, {{2, 20, 4, -2}, {2, 20, 4, -2}}},
      {CollectiveOperation::kALL_REDUCE, ReduceOperation::kAVG, {{3, 30, 4, -1}, {3, 30, 4, -1}}},
      {CollectiveOperation::kALL_GATHER,
       ReduceOperation::kNONE,
       {{2, 20, 4, 0, 4, 40, 4, -2}, {2, 20, 4, 0, 4, 40, 4, -2}}},
      {CollectiveOperation::kBROADCAST, ReduceOperation::kNONE, {{4, 40, 4, -2}, {4, 40, 4, -2}}},
      {CollectiveOperation::kREDUCE, ReduceOperation::kSUM, {{}, {6, 60, 8, -2}}},
      {CollectiveOperation::kREDUCE_SCATTER, ReduceOperation::kSUM, {{6, 60}, {8, -2}}}};
  for (const auto& [operation, reduction, expected] : rows) {
    SCOPED_TRACE(testing::Message() << "operation " << static_cast<int>(operation) << ", reduction "
                                    << static_cast<int>(reduction));
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
    ITensor* twice =
        session.network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    IDistCollectiveLayer* layer =
        session.network->addDistCollective(*twice, operation, reduction, 1, nullptr, 0);
    ASSERT_NE(layer, nullptr) << session.log.text();
    ASSERT_TRUE(layer->setNbRanks(kRanks));
    session.output(layer->getOutput(0), "y");
    tenon::setBuildDevice(*session.config, 0);
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    ASSERT_NE(plan, nullptr) << session.log.text();
    const std::vector<RankValues> results = run(*plan, inputs);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      if (expected[rank].empty()) continue;
      EXPECT_EQ(results[rank], expected[rank]) << "rank " << rank;
    }
  }
}

constexpr int64_t kHeads = 2, kLength = 64, kSize = 32;

/// Attention of so many ranks over vectors of kSize numbers, each rank with its part of them.
std::unique_ptr<IHostMemory> attention_of(int ranks) {
  Session session;
  ITensor* x[3];
  const char* names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i)
    x[i] = session.input(names[i], DataType::kFLOAT, {1, kHeads, kLength / ranks, kSize});
  IAttention* attention =
      session.network->addAttention(*x[0], *x[1], *x[2], AttentionNormalizationOp::kSOFTMAX, false);
  EXPECT_TRUE(attention->setNbRanks(ranks));
  session.output(attention->getOutput(0), "y");
  session.config->clearFlag(BuilderFlag::kTF32);
  tenon::setBuildDevice(*session.config, 0);
  std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_NE(plan, nullptr) << session.log.text();
  return plan;
}

TEST_F(TwoRanks, AttentionGivesWhatOneRankGives) {
  Inputs whole;
  std::vector<Inputs> parts(kRanks);
  constexpr int64_t kPart = kLength / kRanks;
  uint32_t seed = 1;
  for (const char* name : {"q", "k", "v"}) {
    RankValues& values = whole[name];
    for (int64_t i = 0; i < kHeads * kLength * kSize; ++i) {
      seed = seed * 1664525 + 1013904223;
      const float value = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
      values.push_back(value);
      parts[static_cast<size_t>(i / kSize % kLength / kPart)][name].push_back(value);
    }
  }
  const std::unique_ptr<IHostMemory> one = attention_of(1), two = attention_of(kRanks);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  const RankValues expected = run(*one, {whole})[0];
  const std::vector<RankValues> results = run(*two, parts);
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t vector = i / kSize, head = vector / kLength, at = vector % kLength;
    const RankValues& part = results[at / kPart];
    worst = std::max(worst, std::abs(double{expected[i]} -
                                     part[((head * kPart) + at % kPart) * kSize + i % kSize]));
  }
  RecordProperty("worst", std::to_string(worst));
  std::printf("attention of two ranks: largest difference %.2e\n", worst);
  EXPECT_LE(worst, kNear);  // The results are below one.
}

}  // namespace
}  // namespace api_test
