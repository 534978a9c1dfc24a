// Runs that come again and again, over a driver that only pretends: they become graphs by
// themselves, where no caller sees the difference.
#include <cuda.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "fake_driver.h"
#include "harness.h"

namespace {
std::atomic<int64_t> allocations = 0;
}

// All that this program and its libraries allocate. Inlined, GCC takes them for a mismatch.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace api_test {

tenon::IGpu* gpu() {
  return nullptr;  // Its memory is the host's.
}

namespace {

/// Runs of a context ahead of the one that is captured.
constexpr int kOrdinary = 4;
/// Results lie in so many places, which are more than a context keeps graphs of.
constexpr size_t kPlaces = 20;

class OwnReplay : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    driver_.work();
    ITensor* x = session_.input("x", DataType::kFLOAT, {4, 64});
    ITensor* w = session_.constant({64, 64}, std::vector<float>(64 * 64, 0.5F));
    INetworkDefinition& network = *session_.network;
    auto* product =
        network.addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE);
    product->setName("product");
    ITensor* odds = network.addSoftMax(*product->getOutput(0))->getOutput(0);
    session_.output(
        network.addMatrixMultiply(*odds, MatrixOperation::kNONE, *x, MatrixOperation::kTRANSPOSE)
            ->getOutput(0),
        "y");
    session_.config->setBuilderOptimizationLevel(1);
    session_.config->setTacticSources(0);
    session_.config->setFlag(BuilderFlag::kREFIT);
    tenon::setBuildDevice(*session_.config, 0);
    ASSERT_TRUE(session_.build()) << session_.log.text();
  }
  /// How many of so many equal runs were launches of a graph.
  int replays(int runs, size_t place = 0, cudaStream_t stream = nullptr) {
    IExecutionContext& context = *session_.context;
    EXPECT_TRUE(context.setTensorAddress("x", x_.data()) &&
                context.setTensorAddress("y", y_.data() + place * 256));
    const int before = driver_.calls(FUNCTION_TEXT(cuGraphLaunch));
    for (int i = 0; i < runs; ++i) EXPECT_TRUE(context.enqueueV3(stream)) << session_.log.text();
    return driver_.calls(FUNCTION_TEXT(cuGraphLaunch)) - before;
  }
  int captures() { return driver_.calls(FUNCTION_TEXT(cuStreamBeginCapture)); }

  FakeDriver driver_;
  Session session_;
  alignas(256) static inline std::vector<float> x_ = std::vector<float>(256),
                                                y_ = std::vector<float>(256 * kPlaces);
};

TEST_F(OwnReplay, BeginsBehindSomeEqualRuns) {
  EXPECT_EQ(replays(kOrdinary), 0);
  EXPECT_EQ(replays(10), 10);
}

TEST_F(OwnReplay, TakesNoMemoryOfTheHeap) {
  const auto taken = [&] {
    const int64_t before = allocations;
    for (int i = 0; i < 10; ++i) static_cast<void>(session_.context->enqueueV3(nullptr));
    return allocations - before;
  };
  replays(kOrdinary + 2);
  EXPECT_EQ(taken(), 0);
  EXPECT_EQ(replays(1), 1);
  EXPECT_TRUE(tenon::setGraphReplay(*session_.context, false));
  EXPECT_EQ(replays(2), 0);
  EXPECT_EQ(taken(), 0) << "runs that are no replays";
  EXPECT_GT(allocations, 0) << "they are counted";
}

TEST_F(OwnReplay, IsOfOneSetOfAddresses) {
  EXPECT_EQ(replays(kOrdinary + 1), 1);
  EXPECT_EQ(replays(kOrdinary, 1), 0);
  EXPECT_EQ(replays(3), 3) << "the graph of the first is kept";
  EXPECT_EQ(replays(3, 1), 3);
}

TEST_F(OwnReplay, BuffersThatNeverComeAgainAreNotCaptured) {
  const int before = captures();
  for (int round = 0; round < 10; ++round)
    for (size_t place = 0; place < kPlaces; ++place) EXPECT_EQ(replays(1, place), 0);
  EXPECT_EQ(captures(), before);
}

TEST_F(OwnReplay, GraphsThatDoNotPayOffAreMadeMoreSeldom) {
  const int before = captures();
  for (int round = 0; round < 6; ++round)
    for (size_t place = 0; place < kPlaces; ++place) replays(kOrdinary + 1, place);
  EXPECT_LE(captures() - before, 2 * static_cast<int>(kPlaces));
}

TEST_F(OwnReplay, CanBeSwitchedOff) {
  EXPECT_TRUE(tenon::setGraphReplay(*session_.context, false));
  EXPECT_EQ(replays(20), 0);
  setenv("TENON_GRAPH_REPLAY", "0", 1);
  session_.context.reset(session_.engine->createExecutionContext());
  EXPECT_EQ(replays(20), 0);
  unsetenv("TENON_GRAPH_REPLAY");
  EXPECT_EQ(replays(20), 0);
  session_.context.reset(session_.engine->createExecutionContext());
  EXPECT_EQ(replays(20), 20 - kOrdinary);
}

TEST_F(OwnReplay, LeavesCapturesOfTheApplicationAlone) {
  replays(kOrdinary + 1);
  int stream = 0;
  driver_.capture(true);
  EXPECT_EQ(replays(3, 0, reinterpret_cast<cudaStream_t>(&stream)), 0);
  driver_.capture(false);
  EXPECT_EQ(replays(3, 0, reinterpret_cast<cudaStream_t>(&stream)), 3);
}

TEST_F(OwnReplay, LeavesUrgentStreamsAlone) {
  EXPECT_EQ(replays(20, 0, reinterpret_cast<cudaStream_t>(0x99)), 0);
}

TEST_F(OwnReplay, LeavesProfiledRunsAlone) {
  struct Layers final : IProfiler {
    void reportLayerTime(const char*, float) noexcept override { ++count; }
    int count = 0;
  } profiler;
  replays(kOrdinary + 1);
  session_.context->setProfiler(&profiler);
  replays(1);
  EXPECT_GT(profiler.count, 1);
  session_.context->setProfiler(nullptr);
  EXPECT_EQ(replays(3), 3);
}

TEST_F(OwnReplay, AFailedCaptureEndsItForGood) {
  const int before = captures();
  driver_.fail(FUNCTION_TEXT(cuStreamBeginCapture), 0, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(replays(20), 0);
  driver_.work();
  EXPECT_EQ(replays(20), 0);
  EXPECT_LE(captures() - before, 1);
  EXPECT_TRUE(session_.log.errors.empty());
}

TEST_F(OwnReplay, ARefitMakesTheGraphAnew) {
  replays(kOrdinary + 1);
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(*session_.engine, session_.log));
  ASSERT_NE(refitter, nullptr);
  const char* name = nullptr;
  ASSERT_EQ(refitter->getAllWeights(1, &name), 1);
  const std::vector<float> weights(64 * 64, 0.25F);
  EXPECT_TRUE(refitter->setNamedWeights(name, {DataType::kFLOAT, weights.data(), 64 * 64}));
  ASSERT_TRUE(refitter->refitCudaEngine()) << session_.log.text();
  EXPECT_EQ(replays(kOrdinary), 0);
  EXPECT_EQ(replays(3), 3);
}

TEST_F(OwnReplay, EndsWithItsContext) {
  session_.context.reset();
  const int before = driver_.living();
  session_.context.reset(session_.engine->createExecutionContext());
  EXPECT_EQ(replays(10), 10 - kOrdinary);
  EXPECT_GT(driver_.living(), before);
  session_.context.reset();
  EXPECT_EQ(driver_.living(), before);
}

}  // namespace
}  // namespace api_test
