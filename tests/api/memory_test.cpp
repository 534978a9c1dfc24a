// Little memory: every entry of the API ends with its result, or with none and an error.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "harness.h"

namespace api_test {
namespace {

constexpr int kFine = 0, kRefused = 3, kSilent = 4;

/// Sanitizers map memory of their own, and end where they get none.
#ifdef TENON_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// The outcome of a call: whether there is a result.
using Call = std::function<bool(Log& log)>;

/// In a process of its own, whose address space may grow by so many MiB: an exit status, or
/// -signal.
int with_little_memory(int mebibytes, const Call& call) {
  const pid_t child = fork();
  if (child == 0) {
    malloc_trim(0);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = static_cast<rlim_t>(pages) * getpagesize() + (rlim_t{1} << 20) * mebibytes;
    const rlimit both{limit, limit};
    setrlimit(RLIMIT_AS, &both);
    Log log;
    const bool done = call(log);
    _exit(done ? kFine : (log.errors.empty() ? kSilent : kRefused));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// From hardly any memory to enough.
void expect_errors_or_results(const Call& call) {
  int refused = 0, fine = 0;
  for (const int mebibytes : {0, 4, 16, 40, 75, 110, 145, 180, 250, 320, 400, 550, 2000}) {
    const int status = with_little_memory(mebibytes, call);
    EXPECT_TRUE(status == kFine || status == kRefused) << mebibytes << " MiB: " << status;
    refused += status == kRefused;
    fine += status == kFine;
  }
  EXPECT_GT(refused, 0) << "memory was never little";
  EXPECT_GT(fine, 0) << "memory was always too little";
}

/// A network of products with 34 MiB of weights each: allocators keep no such blocks, so that each
/// request goes to the system.
struct Heavy {
  explicit Heavy(ILogger& log)
      : builder(createInferBuilder(log)),
        network(builder != nullptr ? builder->createNetworkV2(0) : nullptr),
        config(builder != nullptr ? builder->createBuilderConfig() : nullptr) {
    if (network == nullptr || config == nullptr) return;
    builder->setMaxThreads(1);
    tenon::setBuildDevice(*config, tenon::kCpuDevice);
    config->setFlag(BuilderFlag::kREFIT);
    config->setBuilderOptimizationLevel(1);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({4, kWidth}));
    for (int i = 0; x != nullptr && i < kLayers; ++i) x = product(x);
    if (x == nullptr) return;
    x->setName("y");
    network->markOutput(*x);
    complete = true;
  }
  ITensor* product(ITensor* x) {
    const Weights weights{DataType::kFLOAT, values().data(), kWidth * kWidth};
    auto* constant = network->addConstant(dims({kWidth, kWidth}), weights);
    if (constant == nullptr) return nullptr;
    auto* layer = network->addMatrixMultiply(*x, MatrixOperation::kNONE, *constant->getOutput(0),
                                             MatrixOperation::kNONE);
    return layer == nullptr ? nullptr : layer->getOutput(0);
  }
  static const std::vector<float>& values() {
    static const std::vector<float> all(kWidth * kWidth, 0.01F);
    return all;
  }
  IHostMemory* build() const {
    return complete ? builder->buildSerializedNetwork(*network, *config) : nullptr;
  }

  static constexpr int kWidth = 3000, kLayers = 3;
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config;
  bool complete = false;
};

/// Loads a plan; null with an error logged.
struct Loaded {
  Loaded(ILogger& log, const IHostMemory& plan) : runtime(createInferRuntime(log)) {
    if (runtime == nullptr) return;
    runtime->setMaxThreads(1);
    engine.reset(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  }
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
};

class LittleMemory : public testing::Test {
 protected:
  LittleMemory() : plan_(Heavy(log_).build()) {}
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers map memory of their own";
  }
  Log log_;
  std::unique_ptr<IHostMemory> plan_;
};

TEST_F(LittleMemory, ForABuild) {
  (void)Heavy::values();
  expect_errors_or_results([](Log& log) {
    const Heavy heavy(log);
    return std::unique_ptr<IHostMemory>(heavy.build()) != nullptr;
  });
}

TEST_F(LittleMemory, ForLoading) {
  ASSERT_NE(plan_, nullptr) << log_.text();
  expect_errors_or_results([&](Log& log) { return Loaded(log, *plan_).engine != nullptr; });
}

TEST_F(LittleMemory, ForContextsAndRuns) {
  ASSERT_NE(plan_, nullptr) << log_.text();
  expect_errors_or_results([&](Log& log) {
    const Loaded loaded(log, *plan_);
    if (loaded.engine == nullptr) return false;
    const std::unique_ptr<IExecutionContext> context(loaded.engine->createExecutionContext());
    if (context == nullptr) return false;
    static std::vector<float> x(4 * Heavy::kWidth), y(4 * Heavy::kWidth);
    return context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()) &&
           context->enqueueV3(nullptr);
  });
}

TEST_F(LittleMemory, ForSerializationAndRefitting) {
  ASSERT_NE(plan_, nullptr) << log_.text();
  expect_errors_or_results([&](Log& log) {
    const Loaded loaded(log, *plan_);
    if (loaded.engine == nullptr) return false;
    const std::unique_ptr<IHostMemory> again(loaded.engine->serialize());
    if (again == nullptr) return false;
    const std::unique_ptr<IRefitter> refitter(createInferRefitter(*loaded.engine, log));
    return refitter != nullptr && refitter->refitCudaEngine();
  });
}

}  // namespace
}  // namespace api_test
