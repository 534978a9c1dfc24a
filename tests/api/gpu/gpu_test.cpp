// Features that only a GPU has: streams, captured graphs, memory of the application's.
#include <atomic>
#include <cmath>
#include <thread>

#include "harness.h"

namespace api_test {
namespace {

constexpr int64_t kRows = 64, kColumns = 256;

std::vector<float> wave(int64_t count, float step) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<float>(i) * step));
  return values;
}

/// softmax(gelu(x w) + x), built for the device of the test program.
class Small {
 public:
  Small() {
    ITensor* x = session.input("x", DataType::kFLOAT, {kRows, kColumns});
    ITensor* w = session.constant({kColumns, kColumns}, wave(kColumns * kColumns, 0.37F));
    ITensor* product =
        session.network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
            ->getOutput(0);
    ITensor* gelu =
        session.network->addActivation(*product, ActivationType::kGELU_ERF)->getOutput(0);
    ITensor* sum =
        session.network->addElementWise(*gelu, *x, ElementWiseOperation::kSUM)->getOutput(0);
    auto* softmax = session.network->addSoftMax(*sum);
    softmax->setAxes(2);
    session.output(softmax->getOutput(0), "y");
    const std::vector<float> values = wave(kRows * kColumns, 0.11F);
    std::memcpy(x_.data(), values.data(), values.size() * 4);
  }

  bool build() { return session.build(); }
  void bind(IExecutionContext& context, Memory& y) {
    ASSERT_TRUE(context.setTensorAddress("x", x_.data()));
    ASSERT_TRUE(context.setTensorAddress("y", y.data()));
  }
  static std::vector<float> values(const Memory& y) {
    std::vector<float> result(kRows * kColumns);
    std::memcpy(result.data(), y.data(), result.size() * 4);
    return result;
  }
  /// One run on a stream, to its end.
  std::vector<float> run(IExecutionContext& context, cudaStream_t stream) {
    Memory y(kRows * kColumns * 4);
    bind(context, y);
    EXPECT_TRUE(context.enqueueV3(stream)) << session.log.text();
    EXPECT_TRUE(gpu()->synchronize(stream));
    return values(y);
  }

  /// Runs into cleared memory, and finds `expected` there.
  void expect_again(IExecutionContext& context, cudaStream_t stream, Memory& y,
                    const std::vector<float>& expected) {
    std::memset(y.data(), 0, kRows * kColumns * 4);
    ASSERT_TRUE(context.enqueueV3(stream)) << session.log.text();
    ASSERT_TRUE(gpu()->synchronize(stream));
    ASSERT_EQ(values(y), expected);
  }

  Session session;

 private:
  Memory x_{kRows * kColumns * 4};
};

TEST(Gpu, RowsOfASoftmaxSumToOne) {
  Small small;
  ASSERT_TRUE(small.build());
  EXPECT_TRUE(tenon::runsOnGpu(*small.session.engine));
  const std::vector<float> y = small.run(*small.session.context, nullptr);
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += y[static_cast<size_t>(row * kColumns + i)];
    EXPECT_NEAR(sum, 1, 5 * kNear);
  }
}

TEST(Gpu, RunsAndReplaysAreBitIdentical) {
  Small small;
  ASSERT_TRUE(small.build());
  IExecutionContext& context = *small.session.context;
  const cudaStream_t stream = gpu()->createStream();
  const std::vector<float> first = small.run(context, stream);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(small.run(context, stream), first);
  ASSERT_TRUE(tenon::setGraphReplay(context, true));
  Memory y(kRows * kColumns * 4);
  small.bind(context, y);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(small.expect_again(context, stream, y, first));
  }
  gpu()->destroy(stream);
}

// Graphs come without being asked for: equal runs become some, other addresses, shapes and weights
// do not.
TEST(Gpu, EqualRunsAreReplayedByThemselves) {
  Small small;
  ASSERT_TRUE(small.build());
  IExecutionContext& context = *small.session.context;
  const cudaStream_t stream = gpu()->createStream();
  const std::vector<float> first = small.run(context, stream);
  Memory y[3] = {Memory(kRows * kColumns * 4), Memory(kRows * kColumns * 4),
                 Memory(kRows * kColumns * 4)};
  for (int i = 0; i < 300; ++i) {
    Memory& to = y[i < 100 ? 0 : i % 3];
    small.bind(context, to);
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(small.expect_again(context, stream, to, first));
  }
  gpu()->destroy(stream);
}

TEST(Gpu, ThreadsReplayTheirOwnRuns) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const std::unique_ptr<IExecutionContext> context(
          small.session.engine->createExecutionContext());
      const cudaStream_t stream = gpu()->createStream();
      Memory y(kRows * kColumns * 4);
      small.bind(*context, y);
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(context->enqueueV3(stream)) << small.session.log.text();
        EXPECT_TRUE(gpu()->synchronize(stream));
        EXPECT_EQ(Small::values(y), expected);
      }
      gpu()->destroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
}

// A library's kernel may start before the kernel ahead has ended, and read the residual that it
// writes too early.
TEST(Gpu, ResidualsOfTheKernelAheadArrive) {
  constexpr int64_t kChannels = 320, kSide = 64, kCount = kChannels * kSide * kSide;
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, kChannels, kSide, kSide});
  std::vector<float> identity(kChannels * kChannels * 9);
  for (int64_t c = 0; c < kChannels; ++c) identity[(c * kChannels + c) * 9 + 4] = 1;
  const Weights weights{DataType::kFLOAT, identity.data(), static_cast<int64_t>(identity.size())};
  auto* conv = session.network->addConvolutionNd(*x, kChannels, dims({3, 3}), weights, {});
  conv->setPaddingNd(dims({1, 1}));
  ITensor* sum =
      session.network->addElementWise(*x, *conv->getOutput(0), ElementWiseOperation::kSUM)
          ->getOutput(0);
  session.output(sum, "y");
  session.config->setFlag(BuilderFlag::kFP16);
  ASSERT_TRUE(session.build());
  Memory in(kCount * 4), out(kCount * 4);
  auto* from = reinterpret_cast<float*>(in.data());
  const auto* to = reinterpret_cast<const float*>(out.data());
  IExecutionContext& context = *session.context;
  ASSERT_TRUE(context.setTensorAddress("x", in.data()));
  ASSERT_TRUE(context.setTensorAddress("y", out.data()));
  const cudaStream_t stream = gpu()->createStream();
  for (int run = 0; run < 6; ++run) {
    for (int64_t i = 0; i < kCount; ++i) from[i] = static_cast<float>((i * 7 + run * 31) % 64) - 32;
    ASSERT_TRUE(context.enqueueV3(stream)) << session.log.text();
    ASSERT_TRUE(gpu()->synchronize(stream));
    int64_t wrong = 0;
    for (int64_t i = 0; i < kCount; ++i) wrong += to[i] != 2 * from[i] ? 1 : 0;
    ASSERT_EQ(wrong, 0) << "run " << run;
  }
  gpu()->destroy(stream);
}

TEST(Gpu, ContextsRunInParallel) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const std::unique_ptr<IExecutionContext> context(
          small.session.engine->createExecutionContext());
      const cudaStream_t stream = gpu()->createStream();
      for (int i = 0; i < 50; ++i)
        if (small.run(*context, stream) != expected) ++wrong;
      gpu()->destroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// While one thread ends the capture of its context's run, others begin, by handles of libraries
/// that threads pass on to each other.
TEST(Gpu, ContextsAreMadeAndRecordedInParallel) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      Memory y(kRows * kColumns * 4);
      for (int i = 0; i < 30; ++i) {
        const std::unique_ptr<IExecutionContext> context(
            small.session.engine->createExecutionContext());
        EXPECT_TRUE(tenon::setGraphReplay(*context, true));
        const cudaStream_t stream = gpu()->createStream();
        small.bind(*context, y);
        for (int run = 0; run < 4; ++run) small.expect_again(*context, stream, y, expected);
        gpu()->destroy(stream);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// With fixed shapes the first run already.
TEST(Gpu, RunsAreRecordedIntoTheApplicationsGraphs) {
  Small small;
  ASSERT_TRUE(small.build());
  IExecutionContext& context = *small.session.context;
  const cudaStream_t stream = gpu()->createStream();
  Memory y(kRows * kColumns * 4);
  small.bind(context, y);
  struct Work {
    IExecutionContext* context;
    cudaStream_t stream;
  } work{&context, stream};
  void* graph = gpu()->capture(
      stream,
      [](void* p) {
        const auto* w = static_cast<Work*>(p);
        return w->context->enqueueV3(w->stream);
      },
      &work);
  ASSERT_NE(graph, nullptr) << small.session.log.text();
  ASSERT_TRUE(gpu()->launchGraph(graph, stream));
  ASSERT_TRUE(gpu()->synchronize(stream));
  EXPECT_EQ(Small::values(y), small.run(context, stream));
  gpu()->destroy(graph);
  gpu()->destroy(stream);
}

/// Any number of images: convolution, sum, product; in small whole numbers.
class Images {
 public:
  static constexpr int64_t kImage = 8 * 6 * 6, kClasses = 16;

  explicit Images(int32_t device) {
    ITensor* x = session.input("x", DataType::kFLOAT, {-1, 8, 6, 6});
    std::vector<float> kernel(32 * 8 * 9), matrix(32 * kClasses);
    for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = static_cast<float>(i % 3) - 1;
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 5) - 2;
    auto* conv =
        session.network->addConvolutionNd(*x, 32, dims({3, 3}), session.weights(kernel), Weights{});
    ITensor* value =
        session.network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    value = session.network->addReduce(*value, ReduceOperation::kSUM, 12, false)->getOutput(0);
    ITensor* w = session.constant({32, kClasses}, matrix);
    value = session.network
                ->addMatrixMultiply(*value, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
                ->getOutput(0);
    session.output(value, "y");
    session.profile("x", {0, 8, 6, 6}, {4, 8, 6, 6}, {9, 8, 6, 6});
    session.profile("x", {9, 8, 6, 6}, {16, 8, 6, 6}, {33, 8, 6, 6});
    session.config->clearFlag(BuilderFlag::kTF32);
    tenon::setBuildDevice(*session.config, device);
  }

  static Array input(int64_t images) {
    std::vector<float> values(static_cast<size_t>(images * kImage));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5;
    return floats({images, 8, 6, 6}, values);
  }

  Session session;
};

TEST(Gpu, ShapesAtTheEdgesOfProfiles) {
  Images cpu(tenon::kCpuDevice), images(0);
  ASSERT_TRUE(cpu.session.build() && images.session.build());
  for (const bool replays : {false, true}) {
    ASSERT_TRUE(tenon::setGraphReplay(*images.session.context, replays));
    for (const auto& [profile, batch] : std::initializer_list<std::pair<int32_t, int64_t>>{
             {0, 1}, {0, 9}, {1, 9}, {1, 33}, {0, 0}, {0, 4}, {1, 32}, {1, 9}, {0, 9}, {0, 1}}) {
      for (Session* session : {&cpu.session, &images.session})
        ASSERT_TRUE(session->context->setOptimizationProfileAsync(profile, nullptr));
      const Arrays in = {{"x", Images::input(batch)}};
      SCOPED_TRACE(std::to_string(profile) + ", " + std::to_string(batch));
      // Algorithms with fractions, such as Winograd's, are a little beside whole numbers.
      expect_near(images.session.run(in)["y"], cpu.session.run(in)["y"].values<float>(),
                  2 * tenon::test::relative_tolerance("kTf32", "kFloat32"));
    }
  }
  EXPECT_FALSE(images.session.context->setInputShape("x", dims({10, 8, 6, 6})));
  EXPECT_TRUE(images.session.log.complained("[9,8,6,6]"));
}

// The memory of a profile serves all of its shapes.
TEST(Gpu, MemoryOfTheApplicationServesAllShapes) {
  Images images(0);
  ASSERT_TRUE(images.session.build());
  const std::unique_ptr<IExecutionContext> context(
      images.session.engine->createExecutionContextWithoutDeviceMemory());
  const int64_t bytes = images.session.engine->getDeviceMemorySizeV2();
  void* memory = gpu()->allocate(static_cast<size_t>(bytes));
  context->setDeviceMemoryV2(memory, bytes);
  Memory x(33 * Images::kImage * 4), y(33 * Images::kClasses * 4);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
  for (int64_t batch = 9; batch <= 33; ++batch)
    ASSERT_TRUE(context->setInputShape("x", dims({batch, 8, 6, 6})) && context->enqueueV3(nullptr))
        << batch << ": " << images.session.log.text();
  ASSERT_TRUE(gpu()->synchronize(cudaStream_t{}));
  gpu()->destroy(memory);
}

TEST(Gpu, ContextsMayEndWhileTheirRunsGoOn) {
  Small small;
  ASSERT_TRUE(small.build());
  const cudaStream_t stream = gpu()->createStream();
  const std::vector<float> expected = small.run(*small.session.context, stream);
  Memory y(kRows * kColumns * 4);
  for (const bool replays : {false, true}) {
    std::unique_ptr<IExecutionContext> context(small.session.engine->createExecutionContext());
    tenon::setGraphReplay(*context, replays);
    small.bind(*context, y);
    std::memset(y.data(), 0, kRows * kColumns * 4);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(context->enqueueV3(stream));
    context.reset();
    ASSERT_TRUE(gpu()->synchronize(stream));
    EXPECT_EQ(Small::values(y), expected);
  }
  std::unique_ptr<IExecutionContext> context(small.session.engine->createExecutionContext());
  small.bind(*context, y);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(context->enqueueV3(stream));
  context.reset();
  small.session.context.reset();
  small.session.engine.reset();
  ASSERT_TRUE(gpu()->synchronize(stream));
  EXPECT_EQ(Small::values(y), expected);
  gpu()->destroy(stream);
}

TEST(Gpu, TheApplicationMayGiveAContextItsMemory) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  const std::unique_ptr<IExecutionContext> context(
      small.session.engine->createExecutionContextWithoutDeviceMemory());
  const int64_t bytes = small.session.engine->getDeviceMemorySizeV2();
  if (bytes > 0) {
    Memory y(kRows * kColumns * 4);
    small.bind(*context, y);
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_TRUE(small.session.log.complained("memory"));
  }
  void* memory = gpu()->allocate(static_cast<size_t>(bytes));
  context->setDeviceMemoryV2(memory, bytes);
  EXPECT_EQ(small.run(*context, nullptr), expected);
  gpu()->destroy(memory);
}

/// Counts, and gives nothing when told so.
class CountingAllocator final : public IGpuAsyncAllocator {
 public:
  void* allocateAsync(uint64_t size, uint64_t, AllocatorFlags, cudaStream_t) noexcept override {
    if (refuses) return nullptr;
    ++living;
    ++calls;
    return gpu()->allocate(size);
  }
  bool deallocateAsync(void* memory, cudaStream_t) noexcept override {
    --living;
    gpu()->destroy(memory);
    return true;
  }
  std::atomic<int> living = 0, calls = 0;
  bool refuses = false;
};

TEST(Gpu, MemoryComesFromTheApplicationsAllocator) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  CountingAllocator allocator;
  {
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(small.session.log));
    runtime->setGpuAllocator(&allocator);
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(small.session.plan->data(), small.session.plan->size()));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_EQ(small.run(*context, nullptr), expected);
    EXPECT_GT(allocator.calls, 0);
  }
  EXPECT_EQ(allocator.living, 0);
}

TEST(Gpu, NoMemoryIsOneErrorAndTheProcessGoesOn) {
  Small small;
  ASSERT_TRUE(small.build());
  const std::vector<float> expected = small.run(*small.session.context, nullptr);
  CountingAllocator allocator;
  allocator.refuses = true;
  {
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(small.session.log));
    runtime->setGpuAllocator(&allocator);
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(small.session.plan->data(), small.session.plan->size()));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    Memory y(kRows * kColumns * 4);
    if (context != nullptr) {
      small.bind(*context, y);
      EXPECT_FALSE(context->enqueueV3(nullptr));
    }
    EXPECT_TRUE(small.session.log.complained("allocator"));
  }
  EXPECT_EQ(small.run(*small.session.context, nullptr), expected);
}

/// Results of runs and replays of an engine with one input and one output, all of them the same.
void expect_equal_replays(Session& session, const std::vector<float>& values,
                          const std::vector<float>& expected) {
  ASSERT_TRUE(session.build());
  Memory x(values.size() * 4), y(expected.size() * 4);
  std::memcpy(x.data(), values.data(), values.size() * 4);
  IExecutionContext& context = *session.context;
  ASSERT_TRUE(context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data()));
  std::vector<cudaStream_t> aux(static_cast<size_t>(session.engine->getNbAuxStreams()));
  for (cudaStream_t& stream : aux) stream = gpu()->createStream();
  context.setAuxStreams(aux.data(), static_cast<int32_t>(aux.size()));
  const cudaStream_t stream = gpu()->createStream();
  std::vector<float> first, result(expected.size());
  for (int i = 0; i < 40; ++i) {
    if (i == 20) {
      ASSERT_TRUE(tenon::setGraphReplay(context, true));
    }
    std::memset(y.data(), 0, expected.size() * 4);
    ASSERT_TRUE(context.enqueueV3(stream)) << session.log.text();
    ASSERT_TRUE(gpu()->synchronize(stream));
    std::memcpy(result.data(), y.data(), result.size() * 4);
    if (i == 0) first = result;
    ASSERT_EQ(result, first) << "run " << i;
  }
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(first[i], expected[i], 0.02) << i;
  gpu()->destroy(stream);
  for (cudaStream_t other : aux) gpu()->destroy(other);
}

TEST(Gpu, LongLoopsAreReplayed) {
  // y = x + the rows, whose elements are 0.25 * (0, 1, ... 7, 0, ...).
  Session session;
  INetworkDefinition& network = *session.network;
  ITensor* x = session.input("x", DataType::kFLOAT, {5});
  ITensor* rows = session.constant({2000, 5}, [] {
    std::vector<float> all(2000 * 5);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i / 5 % 8) * 0.25F;
    return all;
  }());
  ILoop* loop = network.addLoop();
  loop->addTripLimit(*session.constant32({}, {2000}), TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  ITensor* row = loop->addIterator(*rows)->getOutput(0);
  state->setInput(1,
                  *network.addElementWise(*state->getOutput(0), *row, ElementWiseOperation::kSUM)
                       ->getOutput(0));
  session.output(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
  const std::vector<float> values = {1, 2, 3, 4, 5};
  std::vector<float> expected = values;
  for (float& value : expected) value += 0.25F * 28 * 250;
  expect_equal_replays(session, values, expected);
}

TEST(Gpu, StreamedWeightsGiveTheSame) {
  // Products read the weights as they are or in an order of their own, convolutions reorder them.
  Session session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 128, 8, 8});
  for (int i = 0; i < 3; ++i) {
    const Weights weights = session.weights(wave(128 * 128 * 9, 0.31F + 0.1F * i));
    IConvolutionLayer* conv =
        session.network->addConvolutionNd(*x, 128, dims({3, 3}), weights, Weights{});
    conv->setPaddingNd(dims({1, 1}));
    x = session.network->addActivation(*conv->getOutput(0), ActivationType::kTANH)->getOutput(0);
  }
  IShuffleLayer* rows = session.network->addShuffle(*x);
  rows->setReshapeDimensions(dims({64, 256}));
  x = rows->getOutput(0);
  for (int i = 0; i < 3; ++i) {
    ITensor* w = session.constant({256, 256}, wave(256 * 256, 0.37F + 0.1F * i));
    x = session.network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
            ->getOutput(0);
    x = session.network->addActivation(*x, ActivationType::kTANH)->getOutput(0);
  }
  session.output(x, "y");
  session.config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  ASSERT_TRUE(session.build()) << session.log.text();
  const Arrays inputs{{"x", floats({2, 128, 8, 8}, wave(2 * 128 * 64, 0.13F))}};
  const std::vector<float> whole = session.run(inputs)["y"].values<float>();
  const int64_t size = session.engine->getStreamableWeightsSize();
  for (const int64_t budget : {size * 3 / 4, size / 2, int64_t{0}}) {
    session.context.reset();
    ASSERT_TRUE(session.engine->setWeightStreamingBudgetV2(budget)) << session.log.text();
    session.context.reset(session.engine->createExecutionContext());
    EXPECT_EQ(session.run(inputs)["y"].values<float>(), whole) << budget;
  }
}

TEST(Gpu, BranchesOnOtherStreamsGiveTheSame) {
  // Chains of means of x over 64 columns, then a sum: y is the mean of each row, times the chains.
  constexpr int kChains = 4;
  Session session;
  session.config->setMaxAuxStreams(3);
  ITensor* x = session.input("x", DataType::kFLOAT, {64, 64});
  ITensor* sum = nullptr;
  for (int chain = 0; chain < kChains; ++chain) {
    ITensor* value = x;
    for (int i = 0; i <= chain + 4; ++i) {
      ITensor* mean =
          session.constant({64, 64}, std::vector<float>(64 * 64, (1 + 0.001F * chain) / 64));
      value = session.network
                  ->addMatrixMultiply(*value, MatrixOperation::kNONE, *mean, MatrixOperation::kNONE)
                  ->getOutput(0);
      value = session.network
                  ->addElementWise(*value, *session.constant({1, 1}, {1 / (1 + 0.001F * chain)}),
                                   ElementWiseOperation::kPROD)
                  ->getOutput(0);
    }
    sum = sum == nullptr ? value
                         : session.network->addElementWise(*sum, *value, ElementWiseOperation::kSUM)
                               ->getOutput(0);
  }
  session.output(sum, "y");
  const std::vector<float> values = wave(64 * 64, 0.11F);
  std::vector<float> expected(64 * 64);
  for (size_t row = 0; row < 64; ++row) {
    double mean = 0;
    for (size_t i = 0; i < 64; ++i) mean += values[row * 64 + i] / 64;
    for (size_t i = 0; i < 64; ++i) expected[row * 64 + i] = static_cast<float>(kChains * mean);
  }
  expect_equal_replays(session, values, expected);
}

}  // namespace
}  // namespace api_test
