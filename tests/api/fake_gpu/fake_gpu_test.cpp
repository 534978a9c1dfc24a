// Every call of the driver that loading, running and building make fails once, at each of its
// places: one clear error, nothing left behind, and the next attempt works.
#include <cuda.h>
#include <tenon/self_check.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "fake_driver.h"
#include "harness.h"

namespace api_test {
namespace {

constexpr const char* kFunctions[] = {
#define TENON_FUNCTION(name) FUNCTION_TEXT(name),
#include "device/cuda/driver.def"
};

bool allocates(const std::string& function) {
  return function.find("Alloc") != std::string::npos;
}
/// Failing calls that may stop nothing: memory is freed, texts are not needed, graphs are an offer
/// (so that a launch may fail while one is made), and kernels that cannot be loaded have
/// substitutes.
bool may_pass(const std::string& function) {
  for (const char* harmless : {"Destroy", "Free", "Unload", "Release", "GetError", "GetVersion",
                               "Capturing", "Capture", "Graph", "RecordWithFlags", "Occupancy",
                               "Query", "Module", "LaunchKernel", "CtxGet", "EventSynchronize"})
    if (function.find(harmless) != std::string::npos) return true;
  return false;
}

/// Counts the memory that is out; the call number `failing` gives none.
class Allocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
    const std::lock_guard lock(mutex);
    if (calls++ == failing) return nullptr;
    ++living;
    void* memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
    sizes[memory] = size;
    bytes += size;
    // Kernels do nothing: conditions stay false, counts 0.
    return std::memset(memory, 0, size);
  }
  bool deallocate(void* memory) noexcept override {
    const std::lock_guard lock(mutex);
    --living;
    bytes -= sizes[memory];
    std::free(memory);
    return true;
  }
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) noexcept override {
    last_stream = stream;
    return allocate(size, alignment, flags);
  }
  int calls = 0, living = 0, failing = -1;
  uint64_t bytes = 0;
  cudaStream_t last_stream = nullptr;
  std::map<void*, uint64_t> sizes;
  std::mutex mutex;  ///< Several threads ask at once.
};

/// The names of the layers that a run reported.
class Layers final : public IProfiler {
 public:
  void reportLayerTime(const char* name, float milliseconds) noexcept override {
    names.emplace_back(name);
    positive &= milliseconds > 0;
  }
  std::vector<std::string> names;
  bool positive = true;
};

/// y = where x is not zero, plus one: kernels that say how many there are.
void find_places(Session& session, ITensor& x) {
  ITensor* places = session.network->addNonZero(x)->getOutput(0);
  ITensor* one = session.constant32({1, 1}, {1});
  session.output(
      session.network->addElementWise(*places, *one, ElementWiseOperation::kSUM)->getOutput(0),
      "y");
}

/// Doubles x while its sum is small; y is the last value, or that of each iteration.
void double_while_small(Session& session, ITensor& x, LoopOutput output) {
  INetworkDefinition& network = *session.network;
  ILoop* loop = network.addLoop();
  IRecurrenceLayer* state = loop->addRecurrence(x);
  ITensor* value = state->getOutput(0);
  ITensor* sum = network.addReduce(*value, ReduceOperation::kSUM, 1, false)->getOutput(0);
  ITensor* small =
      network.addElementWise(*sum, *session.constant({}, {100}), ElementWiseOperation::kLESS)
          ->getOutput(0);
  loop->addTripLimit(*small, TripLimit::kWHILE);
  // Kernels that do nothing never end it.
  loop->addTripLimit(*session.constant32({}, {5}), TripLimit::kCOUNT);
  ITensor* twice = network.addElementWise(*value, *value, ElementWiseOperation::kSUM)->getOutput(0);
  state->setInput(1, *twice);
  ILoopOutputLayer* result = loop->addLoopOutput(*value, output);
  if (output != LoopOutput::kLAST_VALUE) result->setInput(1, *session.constant32({}, {5}));
  session.output(result->getOutput(0), "y");
}

/// y = x after 300 steps, which are too many to be written out.
void step_often(Session& session, ITensor& x) {
  INetworkDefinition& network = *session.network;
  ILoop* loop = network.addLoop();
  loop->addTripLimit(*session.constant32({}, {300}), TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(x);
  ITensor* value = state->getOutput(0);
  for (int i = 0; i < 4; ++i)
    value = network
                .addSoftMax(
                    *network.addElementWise(*value, x, ElementWiseOperation::kSUM)->getOutput(0))
                ->getOutput(0);
  state->setInput(1, *value);
  session.output(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
                 "y");
}

/// Two chains that do not depend on each other, and their sum.
void branch(Session& session, ITensor& x) {
  ITensor* ends[2];
  for (int i = 0; i < 2; ++i) {
    ITensor* value = &x;
    for (int k = 0; k < 3; ++k) {
      ISoftMaxLayer* layer = session.network->addSoftMax(*value);
      layer->setAxes(1);
      ISliceLayer* slice =
          session.network->addSlice(*layer->getOutput(0), dims({i}), dims({7 - k}), dims({1}));
      value = slice->getOutput(0);
    }
    ends[i] =
        i == 0 ? value : session.network->addUnary(*value, UnaryOperation::kEXP)->getOutput(0);
  }
  session.output(
      session.network->addElementWise(*ends[0], *ends[1], ElementWiseOperation::kSUM)->getOutput(0),
      "y");
}

/// Null with a test failure.
std::unique_ptr<IHostMemory> serialized(Session& session) {
  std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_NE(plan, nullptr) << session.log.text();
  return plan;
}

class FakeGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    driver_ = new FakeDriver();
    session_ = new Session();
    ITensor* x = session_->input("x", DataType::kFLOAT, {4, 64});
    ITensor* w = session_->constant({64, 64}, std::vector<float>(64 * 64, 0.5F));
    ITensor* product =
        session_->network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
            ->getOutput(0);
    ITensor* sum =
        session_->network->addElementWise(*product, *x, ElementWiseOperation::kSUM)->getOutput(0);
    session_->output(session_->network->addSoftMax(*sum)->getOutput(0), "y");
    session_->config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*session_->config);
    plan_.reset(session_->builder->buildSerializedNetwork(*session_->network, *session_->config));
  }
  static void TearDownTestSuite() {
    plan_.reset();
    delete session_;
  }

  void SetUp() override {
    const std::string log = session_->log.text();
    if (plan_ == nullptr && log.find("nvrtc") != std::string::npos) GTEST_SKIP() << log;
    ASSERT_NE(plan_, nullptr) << log;
    driver_->work();
  }

  /// The plan made ready to run; without a context where a step failed.
  struct Loaded {
    explicit Loaded(Log& log) : runtime(createInferRuntime(log)) {
      engine.reset(runtime->deserializeCudaEngine(plan_->data(), plan_->size()));
      if (engine != nullptr) context.reset(engine->createExecutionContext());
    }
    bool bind() {
      return context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data());
    }

    std::unique_ptr<IRuntime> runtime;
    std::unique_ptr<ICudaEngine> engine;
    std::vector<float> x = std::vector<float>(4 * 64, 1), y = std::vector<float>(4 * 64);
    std::unique_ptr<IExecutionContext> context;
  };

  /// Loads the plan, runs it as plain launches and as a replayed graph.
  static bool load_and_run(Log& log) {
    Loaded loaded(log);
    if (loaded.context == nullptr || !loaded.bind()) return false;
    if (!loaded.context->enqueueV3(nullptr)) return false;
    tenon::setGraphReplay(*loaded.context, true);
    for (int i = 0; i < 3; ++i)
      if (!loaded.context->enqueueV3(nullptr)) return false;
    return true;
  }

  /// Loads the plan and runs it profiled.
  static bool load_and_profile(Log& log) {
    Layers layers;
    Loaded loaded(log);
    if (loaded.context == nullptr) return false;
    loaded.context->setProfiler(&layers);
    return loaded.bind() && loaded.context->enqueueV3(nullptr) &&
           loaded.context->enqueueV3(nullptr);
  }

  /// Lets each call of each function fail once while `work` runs, which may do without `offered`.
  static void fail_everywhere(const std::function<bool(Log&)>& work,
                              const std::string& offered = "none") {
    Log quiet;
    ASSERT_TRUE(work(quiet)) << quiet.text();
    const int before = driver_->living();
    for (const std::string function : kFunctions) {
      const int code = allocates(function) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED;
      for (int at = 0; at < 64; ++at) {
        Log log;
        driver_->fail(function.c_str(), at, code);
        const bool worked = work(log);
        const bool reached = driver_->failed();
        driver_->work();
        EXPECT_EQ(driver_->living(), before) << function << ", call " << at << " left something";
        if (!reached) break;
        if (!may_pass(function) && function.find(offered) == std::string::npos) {
          EXPECT_FALSE(worked) << function << ", call " << at << " went unnoticed";
        }
        EXPECT_EQ(log.errors.size(), worked ? 0u : 1u) << function << ", call " << at << ":\n"
                                                       << log.text();
      }
    }
    ASSERT_TRUE(work(quiet)) << quiet.text();
  }

  /// A plan for the GPU of a network that `define` makes, x being 8 numbers.
  static std::unique_ptr<IHostMemory> plan_of(const std::function<void(Session&, ITensor&)>& define,
                                              int aux_streams = 0) {
    Session session;
    session.config->setMaxAuxStreams(aux_streams);
    define(session, *session.input("x", DataType::kFLOAT, {8}));
    session.config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*session.config);
    return serialized(session);
  }

  /// Loads a plan and runs it twice, y being of any size, with memory of the application's.
  static bool run_open(const IHostMemory& plan, Log& log, Allocator& allocator,
                       cudaStream_t stream = nullptr) {
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
    runtime->setGpuAllocator(&allocator);
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (engine == nullptr) return false;
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    if (context == nullptr) return false;
    std::vector<float> x(8, 1);
    GrowingOutput y;
    if (!context->setTensorAddress("x", x.data()) || !context->setOutputAllocator("y", &y))
      return false;
    return context->enqueueV3(stream) && context->enqueueV3(stream);
  }

  /// Lets each call of each function fail once; nothing of the application's memory stays.
  static void survive(const IHostMemory& plan) {
    Allocator allocator;
    fail_everywhere([&](Log& log) {
      const bool worked = run_open(plan, log, allocator);
      EXPECT_EQ(allocator.living, 0);
      return worked;
    });
    EXPECT_GT(allocator.calls, 0);
    // The application's memory ends too.
    for (int at = 0; at < 64; ++at) {
      Log log;
      allocator.calls = 0;
      allocator.failing = at;
      const bool worked = run_open(plan, log, allocator);
      EXPECT_EQ(allocator.living, 0);
      EXPECT_EQ(worked, allocator.calls <= at);
      EXPECT_EQ(log.errors.size(), worked ? 0u : 1u) << log.text();
      if (worked) break;
    }
  }

  static inline FakeDriver* driver_ = nullptr;
  static inline Session* session_ = nullptr;
  static inline std::unique_ptr<IHostMemory> plan_;
};

TEST_F(FakeGpu, LoadingAndRunningSurviveEveryFailure) {
  fail_everywhere(load_and_run);
}

TEST_F(FakeGpu, BuildingSurvivesEveryFailure) {
  // Kernels that cannot be made or timed are left out, so that most builds end well.
  for (const std::string function : kFunctions)
    for (const int at : {0, 9}) {
      const int before = driver_->living();
      driver_->fail(function.c_str(), at,
                    allocates(function) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED);
      session_->log.errors.clear();
      const std::unique_ptr<IHostMemory> plan(
          session_->builder->buildSerializedNetwork(*session_->network, *session_->config));
      driver_->work();
      EXPECT_EQ(driver_->living(), before) << function << " left something";
      EXPECT_EQ(session_->log.errors.size(), plan == nullptr ? 1u : 0u) << function << ":\n"
                                                                        << session_->log.text();
    }
  session_->log.errors.clear();
}

TEST_F(FakeGpu, IntegersAreFastFromAmpereOn) {
  EXPECT_TRUE(session_->builder->platformHasFastInt8());
}

TEST_F(FakeGpu, WhatEndsOnAnotherThreadIsFreed) {
  Log log;
  const int before = driver_->living();
  auto loaded = std::make_unique<Loaded>(log);
  ASSERT_TRUE(loaded->context != nullptr && loaded->bind()) << log.text();
  tenon::setGraphReplay(*loaded->context, true);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loaded->context->enqueueV3(nullptr)) << log.text();
  EXPECT_GT(driver_->living(), before);
  std::thread([&] { loaded.reset(); }).join();
  EXPECT_EQ(driver_->living(), before);
}

TEST_F(FakeGpu, OddAddressesAreRefused) {
  Log log;
  Loaded loaded(log);
  ASSERT_TRUE(loaded.context != nullptr && loaded.bind()) << log.text();
  ASSERT_TRUE(loaded.context->enqueueV3(nullptr)) << log.text();
  for (const char* name : {"x", "y"}) {
    log.errors.clear();
    ASSERT_TRUE(loaded.bind() && loaded.context->setTensorAddress(name, loaded.x.data() + 1));
    EXPECT_FALSE(loaded.context->enqueueV3(nullptr));
    EXPECT_TRUE(log.complained("is no multiple of 16 bytes")) << log.text();
  }
  ASSERT_TRUE(loaded.bind());
  EXPECT_TRUE(loaded.context->enqueueV3(nullptr)) << log.text();
}

TEST_F(FakeGpu, NoMemorySaysWhatToTry) {
  Log log;
  driver_->fail(FUNCTION_TEXT(cuMemAlloc), 0, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(load_and_run(log));
  EXPECT_TRUE(log.complained("bytes could not be allocated on a GPU of a test"));
}

TEST_F(FakeGpu, AFailingLaunchNamesTheLayer) {
  Log log;
  driver_->fail(FUNCTION_TEXT(cuLaunchKernelEx), 0, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_FALSE(load_and_run(log));
  EXPECT_NE(log.text().find("layer '"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("compute-sanitizer"), std::string::npos) << log.text();
}

TEST_F(FakeGpu, KernelsThatDecideExtentsSurviveEveryFailure) {
  const auto plan = plan_of(find_places);
  ASSERT_NE(plan, nullptr);
  survive(*plan);
}

TEST_F(FakeGpu, LoopsSurviveEveryFailure) {
  for (const LoopOutput output : {LoopOutput::kLAST_VALUE, LoopOutput::kCONCATENATE}) {
    const auto plan =
        plan_of([&](Session& session, ITensor& x) { double_while_small(session, x, output); });
    ASSERT_NE(plan, nullptr);
    survive(*plan);
  }
}

TEST_F(FakeGpu, BranchesRunOnOtherStreams) {
  const auto alone = plan_of(branch), beside = plan_of(branch, 3);
  ASSERT_TRUE(alone != nullptr && beside != nullptr);
  survive(*beside);
  Log log;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  const std::unique_ptr<ICudaEngine> one(
      runtime->deserializeCudaEngine(alone->data(), alone->size()));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(beside->data(), beside->size()));
  ASSERT_TRUE(one != nullptr && engine != nullptr) << log.text();
  EXPECT_EQ(one->getNbAuxStreams(), 0);
  ASSERT_EQ(engine->getNbAuxStreams(), 1);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  int own = 0, given = 0;
  std::vector<cudaStream_t> streams = {reinterpret_cast<cudaStream_t>(&given)};
  context->setAuxStreams(streams.data(), 1);
  std::vector<float> x(8, 1), y(8);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  driver_->work();
  ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(&own))) << log.text();
  EXPECT_GT(driver_->launches(&own), 0);
  EXPECT_GT(driver_->launches(&given), 0);
  EXPECT_EQ(driver_->calls("cuStreamWaitEvent"), 2);
}

/// Counts of one profiled run: of launches on its stream, and of events that a graph recorded.
struct Profiled {
  int launches = 0, events = 0, events_in_graph = 0, captures = 0, graphs = 0;
  bool operator==(const Profiled&) const = default;
};

TEST_F(FakeGpu, ProfilesAreOfReplayedGraphs) {
  Log log;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan_->data(), plan_->size()));
  ASSERT_NE(engine, nullptr) << log.text();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Layers layers;
  context->setProfiler(&layers);
  std::vector<float> x(4 * 64, 1), y(4 * 64), other(4 * 64);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  int stream = 0;
  const auto run = [&](const char* failing = nullptr) {
    layers.names.clear();
    driver_->fail(failing, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(&stream))) << log.text();
    return Profiled{driver_->launches(&stream), driver_->calls(FUNCTION_TEXT(cuEventRecord)),
                    driver_->calls(FUNCTION_TEXT(cuEventRecordWithFlags)),
                    driver_->calls(FUNCTION_TEXT(cuStreamBeginCapture)),
                    driver_->calls(FUNCTION_TEXT(cuGraphLaunch))};
  };
  // The first capture may fail where something happens for the first time: launches, one by one.
  const Profiled refused = run(FUNCTION_TEXT(cuGraphInstantiate));
  const std::vector<std::string> names = layers.names;
  const int steps = static_cast<int>(names.size());
  ASSERT_GT(steps, 1);
  EXPECT_GE(refused.launches, steps);
  EXPECT_EQ(refused, (Profiled{refused.launches, steps + 1, steps + 1, 1, 0}));
  // Then one run with all events, and runs whose whole time alone is taken, which share a capture.
  EXPECT_EQ(run(), (Profiled{0, 0, steps + 1, 1, 1}));
  EXPECT_EQ(layers.names, names);
  EXPECT_EQ(run(), (Profiled{0, 0, 2, 1, 1}));
  EXPECT_EQ(layers.names, names);
  EXPECT_EQ(run(), (Profiled{0, 0, 0, 0, 1}));
  EXPECT_EQ(layers.names, names);
  // Other addresses take a capture of their own, once, and go on with the times so far.
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(context->setTensorAddress("y", other.data()));
    EXPECT_EQ(run(), (Profiled{0, 0, 2 - 2 * turn, 1 - turn, 1}));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    EXPECT_EQ(run(), (Profiled{0, 0, 0, 0, 1}));
  }
  EXPECT_EQ(layers.names, names);
  EXPECT_TRUE(layers.positive);
}

/// A context of the plan with a profiler.
struct ProfiledContext {
  ProfiledContext(Log& log, const IHostMemory& plan)
      : runtime(createInferRuntime(log)),
        engine(runtime->deserializeCudaEngine(plan.data(), plan.size())),
        context(engine->createExecutionContext()) {
    context->setProfiler(&layers);
    EXPECT_TRUE(context->setTensorAddress("x", x.data()) &&
                context->setTensorAddress("y", y.data()));
  }
  bool run() { return context->enqueueV3(reinterpret_cast<cudaStream_t>(&stream)); }
  size_t reported() {
    EXPECT_TRUE(context->reportToProfiler());
    return std::exchange(layers.names, {}).size();
  }

  std::vector<float> x = std::vector<float>(4 * 64, 1), y = std::vector<float>(4 * 64);
  int stream = 0;
  Layers layers;
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
};

TEST_F(FakeGpu, ProfilesOfCapturedRunsAreReportedBehindTheGraphsLaunches) {
  Log log;
  ProfiledContext profiled(log, *plan_);
  driver_->capture(true);
  driver_->work();
  ASSERT_TRUE(profiled.run()) << log.text();
  EXPECT_FALSE(driver_->invalidated()) << "a capture is not waited for";
  EXPECT_TRUE(profiled.layers.names.empty()) << "nothing has run";
  const int events = driver_->calls(FUNCTION_TEXT(cuEventRecordWithFlags));
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuEventRecord)), 0);
  driver_->capture(false);
  // Each launch of the graph writes its times anew.
  EXPECT_EQ(profiled.reported(), static_cast<size_t>(events - 1));
  EXPECT_EQ(profiled.reported(), static_cast<size_t>(events - 1));
  // Other runs go on as before.
  ASSERT_TRUE(profiled.run()) << log.text();
  EXPECT_EQ(profiled.layers.names.size(), static_cast<size_t>(events - 1));
}

TEST_F(FakeGpu, ProfilesThatAreReportedLaterLetRunsGoOn) {
  Log log;
  ProfiledContext profiled(log, *plan_);
  ASSERT_TRUE(profiled.run()) << log.text();
  const size_t layers = std::exchange(profiled.layers.names, {}).size();
  ASSERT_GT(layers, 1u);
  profiled.context->setEnqueueEmitsProfile(false);
  driver_->work();
  ASSERT_TRUE(profiled.run() && profiled.run()) << log.text();
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuStreamSynchronize)), 0) << "no run is waited for";
  EXPECT_TRUE(profiled.layers.names.empty());
  EXPECT_EQ(profiled.reported(), layers);
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuStreamSynchronize)), 1);
  EXPECT_EQ(profiled.reported(), 0u) << "once is enough";
}

TEST_F(FakeGpu, ProfilingSurvivesEveryFailure) {
  // Without events of a graph, those between launches.
  fail_everywhere(load_and_profile, "EventCreate");
}

/// y = x behind layers with results of their own; x has any number of rows.
std::unique_ptr<IHostMemory> plan_of_any_rows() {
  Session session;
  ITensor* value = session.input("x", DataType::kFLOAT, {-1, 64});
  for (const int axis : {0, 1, 0, 1}) {
    ISoftMaxLayer* layer = session.network->addSoftMax(*value);
    layer->setAxes(1U << axis);
    value = layer->getOutput(0);
  }
  session.output(value, "y");
  session.profile("x", {1, 64}, {4, 64}, {4096, 64});
  session.config->setBuilderOptimizationLevel(1);
  build_for_fake_gpu(*session.config);
  return serialized(session);
}

TEST_F(FakeGpu, WhatEarlierShapesUsedStaysUntilTheirRunsEnded) {
  const auto plan = plan_of_any_rows();
  ASSERT_NE(plan, nullptr);
  Log log;
  Allocator allocator;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  runtime->setGpuAllocator(&allocator);
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << log.text();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> x(4096 * 64, 1), y(4096 * 64);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  const auto run = [&](int64_t rows) {
    EXPECT_TRUE(context->setInputShape("x", dims({rows, 64})) && context->enqueueV3(nullptr))
        << log.text();
    return allocator.living;
  };
  driver_->stay_busy(true);
  const int one = run(4);
  EXPECT_EQ(run(40), one + 1);
  EXPECT_EQ(run(400), one + 2);
  driver_->stay_busy(false);
  EXPECT_EQ(run(4096), one);
}

/// A convolution, whose kernels keep the weights in an order of their own, over any number of
/// images.
constexpr int64_t kFilters = 64, kImage = 64 * 8 * 8, kMostImages = 16;
std::unique_ptr<IHostMemory> plan_of_a_convolution(IGpuAllocator* allocator) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 64, 8, 8});
  const Weights weights = session.weights(std::vector<float>(kFilters * 64 * 9, 0.01F));
  auto* layer = session.network->addConvolutionNd(*x, kFilters, dims({3, 3}), weights, Weights{});
  layer->setPaddingNd(dims({1, 1}));
  session.output(layer->getOutput(0), "y");
  session.profile("x", {1, 64, 8, 8}, {4, 64, 8, 8}, {kMostImages, 64, 8, 8});
  session.config->setFlag(BuilderFlag::kFP16);
  build_for_fake_gpu(*session.config);
  session.builder->setGpuAllocator(allocator);
  return serialized(session);
}

TEST_F(FakeGpu, AllMemoryOfTheDeviceIsTheApplications) {
  Allocator allocator;
  driver_->work();
  const auto plan = plan_of_a_convolution(&allocator);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuMemAlloc)), 0);
  EXPECT_GT(allocator.calls, 0);
  EXPECT_EQ(allocator.living, 0);
  allocator.calls = 0;
  {
    Log log;
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
    runtime->setGpuAllocator(&allocator);
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << log.text();
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    std::vector<float> x(kMostImages * kImage), y(kMostImages * kImage);
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) &&
                context->setTensorAddress("y", y.data()));
    const auto run = [&](int64_t images) {
      EXPECT_TRUE(context->setInputShape("x", dims({images, 64, 8, 8})) &&
                  context->enqueueV3(nullptr))
          << log.text();
      return allocator.bytes;
    };
    // Weights are there once, whatever the shapes.
    constexpr uint64_t kWeights = kFilters * 64 * 9 * 2;
    const uint64_t first = run(kMostImages);
    EXPECT_GE(first, kWeights);
    for (const int64_t images : {1, 2, 3, 4}) EXPECT_LT(run(images), first + kWeights) << images;
    EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuMemAlloc)), 0);
    EXPECT_GT(allocator.calls, 0);
  }
  EXPECT_EQ(allocator.living, 0);
}

TEST_F(FakeGpu, MemoryOfTheApplicationIsGivenBackBehindTheLastRun) {
  struct Pool final : IGpuAllocator {
    void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
      return std::aligned_alloc(256, (size + 255) / 256 * 256);
    }
    bool deallocate(void* memory) noexcept override {
      if (waits < 0) waits = driver_->calls("cuEventSynchronize");
      std::free(memory);
      return true;
    }
    int waits = -1;  ///< For events, ahead of the first memory that came back.
  } pool;
  Log log;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  runtime->setGpuAllocator(&pool);
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan_->data(), plan_->size()));
  ASSERT_NE(engine, nullptr) << log.text();
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> x(4 * 64), y(4 * 64);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << log.text();
  driver_->work();
  context.reset();
  EXPECT_EQ(pool.waits, 1);
}

TEST_F(FakeGpu, TheFirstRunMayBeCaptured) {
  Log log;
  Loaded loaded(log);
  ASSERT_TRUE(loaded.context != nullptr && loaded.bind()) << log.text();
  driver_->work();
  int stream = 0;
  ASSERT_TRUE(loaded.context->enqueueV3(reinterpret_cast<cudaStream_t>(&stream))) << log.text();
  EXPECT_GT(driver_->launches(&stream), 0);
  // Calls that a capture does not take.
  for (const char* once :
       {FUNCTION_TEXT(cuMemAlloc), FUNCTION_TEXT(cuMemcpyAsync), FUNCTION_TEXT(cuModuleLoadData),
        FUNCTION_TEXT(cuStreamSynchronize), FUNCTION_TEXT(cuStreamCreate)})
    EXPECT_EQ(driver_->calls(once), 0) << once;
}

TEST_F(FakeGpu, RunsThatDependOnDataTakeMemoryInTheStreamsOrder) {
  const auto plan = plan_of(find_places);
  ASSERT_NE(plan, nullptr);
  Log log;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << log.text();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  struct Output final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t given) noexcept override {
      stream = given;
      memory.resize(size / 8 + 1);
      return memory.data();
    }
    void notifyShape(const char*, const Dims&) noexcept override {}
    std::vector<double> memory;
    cudaStream_t stream = nullptr;
  } output;
  Allocator allocator;
  std::vector<float> x(8, 1);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) &&
              context->setOutputAllocator("y", &output) &&
              context->setTemporaryStorageAllocator(&allocator));
  int number = 0;
  const auto stream = reinterpret_cast<cudaStream_t>(&number);
  ASSERT_TRUE(context->enqueueV3(stream)) << log.text();
  EXPECT_GT(allocator.calls, 0);
  EXPECT_EQ(allocator.living, 0);
  EXPECT_EQ(allocator.last_stream, stream);
  EXPECT_EQ(output.stream, stream);
}

TEST_F(FakeGpu, AKernelThatCannotBeMadeHasASubstituteAndIsNamed) {
  Log log;
  driver_->fail(FUNCTION_TEXT(cuModuleLoadData), 0, CUDA_ERROR_INVALID_PTX);
  EXPECT_TRUE(load_and_run(log)) << log.text();
  ASSERT_EQ(log.warnings.size(), 1u);
  for (const char* words : {"layer '", "cannot be made here", "cuModuleLoadData"})
    EXPECT_NE(log.warnings[0].find(words), std::string::npos) << log.warnings[0];
}

TEST_F(FakeGpu, PlansForOtherModelsAreRemarked) {
  Session session;
  session.output(
      session.network->addSoftMax(*session.input("x", DataType::kFLOAT, {4, 64}))->getOutput(0),
      "y");
  session.config->setBuilderOptimizationLevel(0);
  session.config->setTacticSources(0);
  ASSERT_TRUE(tenon::setBuildDeviceDescription(
      *session.config,
      "name = a larger GPU\narchitecture = sm_80\nlibraries = driver 13.0\ncompute_units = 200\n"
      "compute_capability = 80\nmemory_bytes = 8589934592\nshared_memory_per_block = 166912\n"
      "cache_bytes = 41943040\n"
      "native_bf16 = 1\nnative_fp16 = 1\n"));
  ASSERT_TRUE(session.build()) << session.log.text();
  ASSERT_EQ(session.log.warnings.size(), 1u);
  EXPECT_NE(session.log.warnings[0].find("built for a larger GPU and runs on a GPU of a test"),
            std::string::npos)
      << session.log.warnings[0];
}

TEST_F(FakeGpu, PlansForOtherArchitecturesAreRefused) {
  Log log;
  driver_->become(90);
  EXPECT_FALSE(load_and_run(log));
  driver_->become(80);
  EXPECT_EQ(log.errors.size(), 1u);
  EXPECT_TRUE(log.complained("built for 'sm_80' and this is 'sm_90'"));
}

TEST_F(FakeGpu, OnlyRunsThatWaitForNothingAreCaptured) {
  const auto waits = plan_of([](Session& session, ITensor& x) {
    double_while_small(session, x, LoopOutput::kLAST_VALUE);
  });
  const auto open = plan_of(find_places), fixed = plan_of(step_often);
  ASSERT_TRUE(waits != nullptr && open != nullptr && fixed != nullptr);
  Allocator allocator;
  int stream = 0;
  driver_->capture(true);
  Log log;
  EXPECT_TRUE(run_open(*fixed, log, allocator, reinterpret_cast<cudaStream_t>(&stream)));
  EXPECT_FALSE(driver_->invalidated());
  EXPECT_FALSE(run_open(*waits, log, allocator, reinterpret_cast<cudaStream_t>(&stream)));
  EXPECT_EQ(log.errors.size(), 1u);
  EXPECT_TRUE(log.complained("enqueue outside of the capture"));
  EXPECT_TRUE(driver_->invalidated()) << "the capture would end as if it were whole";
  EXPECT_FALSE(run_open(*open, log, allocator, reinterpret_cast<cudaStream_t>(&stream)));
  EXPECT_EQ(log.errors.size(), 1u);
  EXPECT_TRUE(log.complained("enqueue outside of the capture"));
  EXPECT_TRUE(driver_->invalidated());
  driver_->capture(false);
}

}  // namespace

tenon::IGpu* gpu() {
  return nullptr;
}

}  // namespace api_test
