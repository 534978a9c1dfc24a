// Collectives by NCCL itself, among the one rank that a machine with one GPU has.
#include <dlfcn.h>

#include "harness.h"

namespace api_test {
namespace {

TEST(GpuCollective, OneRankRunsEachByNccl) {
  void* const nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (nccl == nullptr) GTEST_SKIP() << "no NCCL: " << dlerror();
  const auto init =
      reinterpret_cast<int (*)(void**, int, const int*)>(dlsym(nccl, "ncclCommInitAll"));
  const auto destroy = reinterpret_cast<int (*)(void*)>(dlsym(nccl, "ncclCommDestroy"));
  void* all = nullptr;
  const int device = 0;
  ASSERT_EQ(init(&all, 1, &device), 0);
  const std::vector<float> values = {1, -2, 3.5F, 4};
  for (const CollectiveOperation operation :
       {CollectiveOperation::kALL_REDUCE, CollectiveOperation::kALL_GATHER,
        CollectiveOperation::kBROADCAST, CollectiveOperation::kREDUCE,
        CollectiveOperation::kREDUCE_SCATTER}) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
    ITensor* twice =
        session.network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    IDistCollectiveLayer* layer =
        session.network->addDistCollective(*twice, operation, ReduceOperation::kSUM, 0, nullptr, 0);
    ASSERT_NE(layer, nullptr) << session.log.text();
    session.output(layer->getOutput(0), "y");
    tenon::setBuildDevice(*session.config, 0);
    ASSERT_TRUE(session.build()) << session.log.text();
    ASSERT_TRUE(session.context->setCommunicator(all)) << session.log.text();
    Memory from(16), to(16);
    std::memcpy(from.data(), values.data(), 16);
    ASSERT_TRUE(session.context->setTensorAddress("x", from.data()) &&
                session.context->setTensorAddress("y", to.data()));
    const cudaStream_t stream = gpu()->createStream();
    for (int i = 0; i < 8; ++i) {
      std::memset(to.data(), 0, 16);
      ASSERT_TRUE(session.context->enqueueV3(stream)) << session.log.text();
      ASSERT_TRUE(gpu()->synchronize(stream));
      std::vector<float> result(4);
      std::memcpy(result.data(), to.data(), 16);
      EXPECT_EQ(result, (std::vector<float>{2, -4, 7, 8})) << static_cast<int>(operation);
    }
    gpu()->destroy(stream);
  }
  EXPECT_EQ(destroy(all), 0);
}

}  // namespace
}  // namespace api_test
