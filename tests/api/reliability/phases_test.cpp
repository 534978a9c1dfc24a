// Each allocation fails in turn while networks of several kinds are built, loaded, given a context
// and run.
#include <array>

#include "allocations.h"
#include "failures.h"
#include "harness.h"
#include "increment.h"
#include "small_model.h"

namespace reliability {
namespace {

using namespace nvinfer1;
using api_test::dims;

const float kWeights[32] = {0.5F, -1.0F, 2.0F, 0.25F};
const int64_t kTrips[1] = {3};

void output(INetworkDefinition& network, ITensor* tensor, const char* name) {
  tensor->setName(name);
  network.markOutput(*tensor);
}

ITensor* product(INetworkDefinition& network, ITensor& x) {
  ITensor* w = network.addConstant(dims({4, 4}), {DataType::kFLOAT, kWeights, 16})->getOutput(0);
  return network.addMatrixMultiply(x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
      ->getOutput(0);
}

void define_parsed(INetworkDefinition& network, ILogger& log) {
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(network, log));
  const std::string bytes = small_model();
  ASSERT_TRUE(parser->parse(bytes.data(), bytes.size()));
}

void define_dynamic(INetworkDefinition& network, ILogger&) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, dims({-1, 4}));
  ITensor* y = network.addActivation(*product(network, *x), ActivationType::kRELU)->getOutput(0);
  ISoftMaxLayer* softmax = network.addSoftMax(*y);
  softmax->setAxes(2);
  output(network, softmax->getOutput(0), "y");
}

void define_loop(INetworkDefinition& network, ILogger&) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, dims({4}));
  ITensor* count = network.addConstant(dims({}), {DataType::kINT64, kTrips, 1})->getOutput(0);
  ILoop* loop = network.addLoop();
  loop->addTripLimit(*count, TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  ITensor* twice =
      network.addElementWise(*state->getOutput(0), *x, ElementWiseOperation::kPROD)->getOutput(0);
  state->setInput(1, *twice);
  output(network, loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
         "y");
}

void define_choice(INetworkDefinition& network, ILogger&) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, dims({4}));
  ITensor* yes = network.addInput("yes", DataType::kBOOL, dims({}));
  IIfConditional* choice = network.addIfConditional();
  choice->setCondition(*yes);
  ITensor* in = choice->addInput(*x)->getOutput(0);
  ITensor* absolute = network.addUnary(*in, UnaryOperation::kABS)->getOutput(0);
  ITensor* negative = network.addUnary(*in, UnaryOperation::kNEG)->getOutput(0);
  output(network, choice->addOutput(*absolute, *negative)->getOutput(0), "y");
}

void define_plugin(INetworkDefinition& network, ILogger&) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, dims({-1, 4}));
  Increment increment;
  ITensor* y = network.addPluginV2(&x, 1, increment)->getOutput(0);
  output(network, product(network, *y), "y");
}

void define_indices(INetworkDefinition& network, ILogger&) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, dims({-1, 4}));
  output(network, network.addNonZero(*x)->getOutput(0), "y");
}

struct Kind {
  const char* name;
  void (*define)(INetworkDefinition& network, ILogger& log);
};

constexpr Kind kKinds[] = {{"parsed", define_parsed}, {"dynamic", define_dynamic},
                           {"loop", define_loop},     {"conditional", define_choice},
                           {"plugin", define_plugin}, {"indices", define_indices}};

class Phases : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
    getPluginRegistry()->registerCreator(creator_, "");
    builder_.reset(createInferBuilder(log_));
    builder_->setErrorRecorder(&recorder_);
    builder_->setMaxThreads(1);
    network_.reset(builder_->createNetworkV2(0));
    network_->setErrorRecorder(&recorder_);
    config_.reset(builder_->createBuilderConfig());
    tenon::setBuildDevice(*config_, tenon::kCpuDevice);
    config_->setBuilderOptimizationLevel(0);
    GetParam().define(*network_, log_);
    IOptimizationProfile* profile = builder_->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 4}));
    profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4}));
    profile->setDimensions("x", OptProfileSelector::kMAX, dims({4, 4}));
    if (network_->getInput(0)->getDimensions().d[0] == -1) config_->addOptimizationProfile(profile);
    plan_ = build();
    ASSERT_NE(plan_, nullptr);
    runtime_.reset(createInferRuntime(log_));
    runtime_->setErrorRecorder(&recorder_);
    runtime_->setMaxThreads(1);
    engine_ = load();
    ASSERT_NE(engine_, nullptr);
    engine_->setErrorRecorder(&recorder_);
  }
  void TearDown() override { getPluginRegistry()->deregisterCreator(creator_); }

  std::unique_ptr<IHostMemory> build() {
    return std::unique_ptr<IHostMemory>(builder_->buildSerializedNetwork(*network_, *config_));
  }
  std::unique_ptr<ICudaEngine> load() {
    return std::unique_ptr<ICudaEngine>(
        runtime_->deserializeCudaEngine(plan_->data(), plan_->size()));
  }
  /// One run of a batch on memory of zeros.
  bool run(IExecutionContext& context, int64_t batch) {
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      Dims shape = engine_->getTensorShape(name);
      const bool is_input = engine_->getTensorIOMode(name) == TensorIOMode::kINPUT;
      if (is_input && shape.nbDims > 0 && shape.d[0] == -1) {
        shape.d[0] = batch;
        if (!context.setInputShape(name, shape)) return false;
      }
      if (!context.setTensorAddress(name, memory_[static_cast<size_t>(i)].data())) return false;
    }
    return context.enqueueV3(nullptr);
  }
  bool make_and_run() {
    const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
    return context != nullptr && run(*context, 2);
  }
  void expect(const char* phase, const std::function<bool()>& f) {
    expect_errors(std::string(GetParam().name) + ", " + phase, log_, &recorder_, f);
  }

  Errors log_;
  CountingRecorder recorder_;
  IncrementCreator creator_;
  std::unique_ptr<IBuilder> builder_;
  std::unique_ptr<INetworkDefinition> network_;
  std::unique_ptr<IBuilderConfig> config_;
  std::unique_ptr<IHostMemory> plan_;
  std::unique_ptr<IRuntime> runtime_;
  std::unique_ptr<ICudaEngine> engine_;
  alignas(64) std::array<std::array<std::byte, 4096>, 4> memory_{};
};

TEST_P(Phases, Build) {
  expect("build", [&] { return build() != nullptr; });
}

TEST_P(Phases, Load) {
  expect("load", [&] { return load() != nullptr; });
}

TEST_P(Phases, Context) {
  expect("context", [&] {
    return std::unique_ptr<IExecutionContext>(engine_->createExecutionContext()) != nullptr;
  });
}

TEST_P(Phases, FirstRun) {
  expect("first run", [&] { return make_and_run(); });
}

INSTANTIATE_TEST_SUITE_P(Networks, Phases, testing::ValuesIn(kKinds),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace reliability
