// Every call of the driver that loading, running and building make fails once, at each of its
// places: one clear error, nothing left behind, and the next attempt works.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <functional>

#include "harness.h"

namespace api_test {
namespace {

/// Before the library looks for the driver.
const int kEnvironment = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

/// The driver that pretends.
class FakeDriver {
 public:
  FakeDriver() : library_(dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW)) {}
  void fail(const char* function, int at, int code) const {
    call<void (*)(const char*, int, int)>("fake_driver_fail")(function, at, code);
  }
  void work() const { fail(nullptr, -1, 0); }
  bool failed() const { return call<bool (*)()>("fake_driver_failed")(); }
  int living() const { return call<int (*)()>("fake_driver_living")(); }

 private:
  template <class Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
};

#define FUNCTION_TEXT_INNER(x) #x
#define FUNCTION_TEXT(x) FUNCTION_TEXT_INNER(x)
constexpr const char* kFunctions[] = {
#define TENON_FUNCTION(name) FUNCTION_TEXT(name),
#include "device/cuda/driver.def"
};

bool allocates(const std::string& function) {
  return function.find("Alloc") != std::string::npos;
}
/// Failing calls that may stop nothing: what is freed is freed, texts are not needed, graphs are an
/// offer (so that a launch may fail while one is made), and kernels that cannot be loaded have
/// substitutes.
bool may_pass(const std::string& function) {
  for (const char* harmless :
       {"Destroy", "Free", "Unload", "Release", "GetError", "GetVersion", "Capturing", "Capture",
        "Graph", "Occupancy", "Query", "Module", "LaunchKernel", "CtxGet"})
    if (function.find(harmless) != std::string::npos) return true;
  return false;
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
    // Libraries look for a real driver.
    session_->config->setTacticSources(0);
    tenon::setBuildDevice(*session_->config, 0);
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

  /// Loads the plan, runs it as plain launches and as a replayed graph.
  static bool load_and_run(Log& log) {
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan_->data(), plan_->size()));
    if (engine == nullptr) return false;
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    if (context == nullptr) return false;
    std::vector<float> x(4 * 64, 1), y(4 * 64);
    if (!context->setTensorAddress("x", x.data()) || !context->setTensorAddress("y", y.data()))
      return false;
    if (!context->enqueueV3(nullptr)) return false;
    tenon::setGraphReplay(*context, true);
    for (int i = 0; i < 3; ++i)
      if (!context->enqueueV3(nullptr)) return false;
    return true;
  }

  /// Lets each call of each function fail once while `work` runs.
  static void fail_everywhere(const std::function<bool(Log&)>& work) {
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
        if (!may_pass(function)) {
          EXPECT_FALSE(worked) << function << ", call " << at << " went unnoticed";
        }
        EXPECT_EQ(log.errors.size(), worked ? 0u : 1u) << function << ", call " << at << ":\n"
                                                       << log.text();
      }
    }
    ASSERT_TRUE(work(quiet)) << quiet.text();
  }

  static inline FakeDriver* driver_ = nullptr;
  static inline Session* session_ = nullptr;
  static inline std::unique_ptr<IHostMemory> plan_;
};

TEST_F(FakeGpu, LoadingAndRunningSurviveEveryFailure) {
  fail_everywhere(load_and_run);
}

TEST_F(FakeGpu, BuildingSurvivesEveryFailure) {
  // What cannot be made or timed is left out, so that most builds end well.
  for (const std::string function : kFunctions) {
    const int before = driver_->living();
    driver_->fail(function.c_str(), 0,
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

}  // namespace

tenon::IGpu* gpu() {
  return nullptr;
}

}  // namespace api_test
