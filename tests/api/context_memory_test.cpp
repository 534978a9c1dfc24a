// Memory that the application gives a context: how much is enough.
#include <algorithm>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

constexpr int64_t kMostRows = 24;

/// Layers whose scratch memory and layout depend on the batch: convolutions, products, a softmax.
struct Layered : Session {
  Layered() {
    ITensor* x = input("x", DataType::kFLOAT, {-1, 8, 12, 12});
    const Weights none{DataType::kFLOAT, nullptr, 0};
    ITensor* value = x;
    for (int i = 0; i < 3; ++i) {
      auto* conv = network->addConvolutionNd(*value, 8, dims({3, 3}),
                                             weights(F(size_t{8} * 8 * 9, 0.01F)), none);
      conv->setPaddingNd(dims({1, 1}));
      value = network->addActivation(*conv->getOutput(0), ActivationType::kTANH)->getOutput(0);
      value = network->addElementWise(*value, *x, ElementWiseOperation::kSUM)->getOutput(0);
    }
    IShuffleLayer* rows = network->addShuffle(*value);
    rows->setReshapeDimensions(dims({0, -1}));
    ITensor* product = network
                           ->addMatrixMultiply(*rows->getOutput(0), MatrixOperation::kNONE,
                                               *constant({1152, 64}, F(size_t{1152} * 64, 0.001F)),
                                               MatrixOperation::kNONE)
                           ->getOutput(0);
    output(network->addSoftMax(*product)->getOutput(0), "y");
    profile("x", {1, 8, 12, 12}, {8, 8, 12, 12}, {kMostRows, 8, 12, 12});
  }
};

/// Memory with guards behind it.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), memory_(bytes + kGuard) {
    std::fill_n(memory_.data() + bytes_, kGuard, kMark);
  }
  void* data() { return memory_.data(); }
  bool intact() const {
    return std::all_of(memory_.data() + bytes_, memory_.data() + bytes_ + kGuard,
                       [](std::byte byte) { return byte == kMark; });
  }

 private:
  static constexpr size_t kGuard = size_t{1} << 22;
  static constexpr std::byte kMark{0x5a};
  size_t bytes_;
  Memory memory_;
};

struct Bound {
  Memory x{size_t{kMostRows} * 8 * 144 * 4}, y{size_t{kMostRows} * 64 * 4};
  void to(IExecutionContext& context) const {
    std::memset(x.data(), 0, size_t{kMostRows} * 8 * 144 * 4);
    EXPECT_TRUE(context.setTensorAddress("x", x.data()));
    EXPECT_TRUE(context.setTensorAddress("y", y.data()));
  }
};

TEST(ContextMemory, ServesAllShapesOfTheProfile) {
  Layered session;
  ASSERT_TRUE(session.build());
  const int64_t size = session.engine->getDeviceMemorySizeV2();
  EXPECT_EQ(session.engine->getDeviceMemorySizeForProfileV2(0), size);
  const Bound bound;
  for (const bool first_version : {false, true}) {
    Guarded memory(static_cast<size_t>(size));
    const std::unique_ptr<IExecutionContext> context(
        session.engine->createExecutionContextWithoutDeviceMemory());
    bound.to(*context);
    if (first_version)
      context->setDeviceMemory(memory.data());
    else
      context->setDeviceMemoryV2(memory.data(), size);
    for (int64_t rows = 1; rows <= kMostRows; ++rows) {
      ASSERT_TRUE(context->setInputShape("x", dims({rows, 8, 12, 12})));
      ASSERT_TRUE(context->enqueueV3(nullptr)) << rows << ": " << session.log.text();
      if (gpu() != nullptr) {
        ASSERT_TRUE(gpu()->synchronize(cudaStream_t{}));
      }
      ASSERT_TRUE(memory.intact()) << rows << " rows wrote behind " << size << " bytes";
    }
  }
}

TEST(ContextMemory, GrowsWithShapesWhereTheApplicationManagesIt) {
  Layered session;
  ASSERT_TRUE(session.build());
  const std::unique_ptr<IExecutionContext> context(
      session.engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
  const Bound bound;
  bound.to(*context);
  std::vector<std::unique_ptr<Memory>> memories;
  size_t given = 0;
  for (const int64_t rows : {2, 5, 1, int{kMostRows}, 3}) {
    ASSERT_TRUE(context->setInputShape("x", dims({rows, 8, 12, 12})));
    const size_t needed = context->updateDeviceMemorySizeForShapes();
    EXPECT_EQ(session.log.text(), "") << "asking for the size is no error";
    ASSERT_GT(needed, 0U);
    if (needed > given) {
      if (given > 0) {
        EXPECT_FALSE(context->enqueueV3(nullptr));
        EXPECT_TRUE(session.log.complained(std::to_string(needed) + " bytes"));
        EXPECT_EQ(context->updateDeviceMemorySizeForShapes(), needed);
      }
      memories.push_back(std::make_unique<Memory>(needed));
      given = needed;
      context->setDeviceMemoryV2(memories.back()->data(), static_cast<int64_t>(given));
    }
    ASSERT_TRUE(context->enqueueV3(nullptr)) << rows << ": " << session.log.text();
    if (gpu() != nullptr) {
      ASSERT_TRUE(gpu()->synchronize(cudaStream_t{}));
    }
  }
  EXPECT_GT(memories.size(), 1U);
  context->setDeviceMemoryV2(nullptr, 16);
  EXPECT_TRUE(session.log.complained("setDeviceMemoryV2"));
  context->setDeviceMemoryV2(memories[0]->data(), -1);
  EXPECT_TRUE(session.log.complained("-1 bytes"));
}

TEST(ContextMemory, OutputsOfDataAreBoundedByTheirInputs) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1});
  session.output(session.network->addNonZero(*x)->getOutput(0), "y");
  session.profile("x", {1}, {8}, {16});
  const Arrays y = session.run({{"x", floats({8}, {1, 0, 0, 0, 0, 0, 0, 0})}});
  ASSERT_EQ(y.at("y").extents, (std::vector<int64_t>{1, 1}));
  const int64_t element = y.at("y").type == DataType::kINT64 ? 8 : 4;
  EXPECT_GE(session.context->getMaxOutputSize("y"), 8 * element)
      << "the last run's size says nothing of the next one's";
  EXPECT_LE(session.context->getMaxOutputSize("y"), 16 * element);
}

}  // namespace
}  // namespace api_test
