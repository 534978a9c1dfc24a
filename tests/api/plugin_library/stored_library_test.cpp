// Plugin libraries that plans carry: loaded where the runtime allows code of the host, and let go
// of with the last engine.
#include <NvInfer.h>
#include <gtest/gtest.h>
#include <tenon/device.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace nvinfer1;

class Log final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  bool complained(const char* words) const { return errors.find(words) != std::string::npos; }
  std::string errors;
};

bool has_creator() {
  return getPluginRegistry()->getCreator("StoredRepeat", "1", "") != nullptr;
}

class StoredLibrary : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    library_ = getPluginRegistry()->loadLibrary(STORED_LIBRARY);
    plan_ = plan_with({STORED_LIBRARY});
    getPluginRegistry()->deregisterLibrary(library_);
    ASSERT_NE(plan_, nullptr) << log_.errors;
    ASSERT_FALSE(has_creator());
    runtime_.reset(createInferRuntime(log_));
    tenon::setRunDevice(*runtime_, tenon::kCpuDevice);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  /// y [4, 3] = 2 x, one below the other.
  std::unique_ptr<IHostMemory> plan_with(const std::vector<const char*>& libraries) {
    const std::unique_ptr<IBuilder> builder(createInferBuilder(log_));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    tenon::setBuildDevice(*config, tenon::kCpuDevice);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2(2, 3));
    auto* creator =
        static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator("StoredRepeat", "1", ""));
    const float factor = 2;
    const PluginField field("factor", &factor, PluginFieldType::kFLOAT32, 1);
    const PluginFieldCollection fields{1, &field};
    const std::unique_ptr<IPluginV3> plugin(
        creator->createPlugin("p", &fields, TensorRTPhase::kBUILD));
    ITensor* y = network->addPluginV3(&x, 1, nullptr, 0, *plugin)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    config->setPluginsToSerialize(libraries.data(), static_cast<int32_t>(libraries.size()));
    return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
  }
  std::unique_ptr<ICudaEngine> load(const IHostMemory& plan) {
    return std::unique_ptr<ICudaEngine>(runtime_->deserializeCudaEngine(plan.data(), plan.size()));
  }
  static void expect_results(ICudaEngine& engine) {
    const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
    ASSERT_NE(context, nullptr);
    std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(12);
    context->setInputTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    ASSERT_TRUE(context->enqueueV3(nullptr));
    EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8, 10, 12, 2, 4, 6, 8, 10, 12}));
  }
  static TempfileControlFlags only(TempfileControlFlag flag) {
    return TempfileControlFlags{1} << static_cast<uint32_t>(flag);
  }

  const std::string folder_ = testing::TempDir() + "stored_libraries";
  Log log_;
  IPluginRegistry::PluginLibraryHandle library_ = nullptr;
  std::unique_ptr<IHostMemory> plan_;
  std::unique_ptr<IRuntime> runtime_;
};

TEST_F(StoredLibrary, IsRefusedUnlessAllowed) {
  EXPECT_EQ(load(*plan_), nullptr);
  EXPECT_TRUE(log_.complained("setEngineHostCodeAllowed(true)")) << log_.errors;
  EXPECT_FALSE(has_creator());
}

TEST_F(StoredLibrary, RunsAndGoesWithItsEngine) {
  runtime_->setEngineHostCodeAllowed(true);
  std::unique_ptr<ICudaEngine> engine = load(*plan_);
  ASSERT_NE(engine, nullptr) << log_.errors;
  EXPECT_TRUE(has_creator());
  expect_results(*engine);
  engine.reset();
  EXPECT_FALSE(has_creator());
}

TEST_F(StoredLibrary, IsLoadedOnceForTwoEngines) {
  runtime_->setEngineHostCodeAllowed(true);
  std::unique_ptr<ICudaEngine> first = load(*plan_), second = load(*plan_);
  ASSERT_TRUE(first != nullptr && second != nullptr) << log_.errors;
  first.reset();
  EXPECT_TRUE(has_creator());
  expect_results(*second);
  second.reset();
  EXPECT_FALSE(has_creator());
}

/// Another plan's library may have given the creators that a plan found.
TEST_F(StoredLibrary, StaysWhileAnyEngineUsesItsCreators) {
  const std::string copy =
      std::filesystem::temp_directory_path() / ("tenon_stored_copy_" + std::to_string(getpid()));
  std::filesystem::copy_file(STORED_LIBRARY, copy);
  std::ofstream(copy, std::ios::app | std::ios::binary) << 'x';
  library_ = getPluginRegistry()->loadLibrary(STORED_LIBRARY);
  const std::unique_ptr<IHostMemory> other = plan_with({copy.c_str()}), bare = plan_with({});
  getPluginRegistry()->deregisterLibrary(library_);
  std::filesystem::remove(copy);
  ASSERT_TRUE(other != nullptr && bare != nullptr) << log_.errors;
  runtime_->setEngineHostCodeAllowed(true);
  for (const IHostMemory* plan : {other.get(), bare.get()}) {
    std::unique_ptr<ICudaEngine> first = load(*plan_), second = load(*plan);
    ASSERT_TRUE(first != nullptr && second != nullptr) << log_.errors;
    first.reset();
    ASSERT_TRUE(has_creator());
    expect_results(*second);
    second.reset();
    EXPECT_FALSE(has_creator());
  }
}

TEST_F(StoredLibrary, IsKeptInPlansThatEnginesWrite) {
  runtime_->setEngineHostCodeAllowed(true);
  std::unique_ptr<ICudaEngine> engine = load(*plan_);
  ASSERT_NE(engine, nullptr) << log_.errors;
  const std::unique_ptr<IHostMemory> again(engine->serialize());
  engine.reset();
  engine = load(*again);
  ASSERT_NE(engine, nullptr) << log_.errors;
  expect_results(*engine);
}

TEST_F(StoredLibrary, GivesWayToTheApplicationsCreators) {
  runtime_->setEngineHostCodeAllowed(true);
  library_ = getPluginRegistry()->loadLibrary(STORED_LIBRARY);
  std::unique_ptr<ICudaEngine> engine = load(*plan_);
  ASSERT_NE(engine, nullptr) << log_.errors;
  expect_results(*engine);
  engine.reset();
  EXPECT_TRUE(has_creator());
  getPluginRegistry()->deregisterLibrary(library_);
}

TEST_F(StoredLibrary, NeedsAFileThatTheApplicationAllows) {
  runtime_->setEngineHostCodeAllowed(true);
  runtime_->setTempfileControlFlags(0);
  EXPECT_EQ(load(*plan_), nullptr);
  EXPECT_TRUE(log_.complained("setTempfileControlFlags")) << log_.errors;
  runtime_->setTempfileControlFlags(only(TempfileControlFlag::kALLOW_IN_MEMORY_FILES));
  runtime_->setTemporaryDirectory("/none/at/all");
  EXPECT_NE(load(*plan_), nullptr);
}

TEST_F(StoredLibrary, IsReadFromTheTemporaryDirectory) {
  runtime_->setEngineHostCodeAllowed(true);
  runtime_->setTempfileControlFlags(only(TempfileControlFlag::kALLOW_TEMPORARY_FILES));
  const std::string gone = folder_ + "/gone";
  std::filesystem::create_directory(gone);
  runtime_->setTemporaryDirectory(gone.c_str());
  std::filesystem::remove(gone);
  EXPECT_EQ(load(*plan_), nullptr);
  EXPECT_TRUE(log_.complained(gone.c_str())) << log_.errors;
  runtime_->setTemporaryDirectory(folder_.c_str());
  const std::unique_ptr<ICudaEngine> engine = load(*plan_);
  ASSERT_NE(engine, nullptr) << log_.errors;
  expect_results(*engine);
}

TEST_F(StoredLibrary, MustBeALibrary) {
  const std::string path = testing::TempDir() + "no_library.so";
  std::ofstream(path) << "any";
  library_ = getPluginRegistry()->loadLibrary(STORED_LIBRARY);
  EXPECT_EQ(plan_with({path.c_str()}), nullptr);
  EXPECT_TRUE(log_.complained("is no shared library")) << log_.errors;
  // Four bytes make a file that looks like one.
  std::ofstream(path) << "\177ELF";
  const std::unique_ptr<IHostMemory> plan = plan_with({path.c_str()});
  ASSERT_NE(plan, nullptr) << log_.errors;
  getPluginRegistry()->deregisterLibrary(library_);
  runtime_->setEngineHostCodeAllowed(true);
  EXPECT_EQ(load(*plan), nullptr);
  EXPECT_TRUE(log_.complained("'no_library.so' of the plan cannot be loaded")) << log_.errors;
  EXPECT_FALSE(has_creator());
}

}  // namespace
