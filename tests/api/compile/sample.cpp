// The usual life of a program: build a classifier, write a plan, load it, run it, find the class.
#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <NvInferVersion.h>
#include <NvOnnxParser.h>
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace nvinfer1;

class Logger : public ILogger {
 public:
  void log(Severity severity, char const* msg) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << msg << std::endl;
  }
} gLogger;

template <typename T> using TrtUniquePtr = std::unique_ptr<T>;

bool pluginsCanBeMade();  // Of plugins.cpp.

class Classifier {
 public:
  bool build();
  bool infer(std::vector<float> const& image, std::vector<float>& scores);

 private:
  bool constructNetwork(INetworkDefinition& network);
  std::vector<float> mKernel = std::vector<float>(4 * 1 * 3 * 3, 0.1F);
  std::vector<float> mBias = std::vector<float>(4, 0.5F);
  std::vector<float> mDense;
  std::shared_ptr<IRuntime> mRuntime;
  std::shared_ptr<ICudaEngine> mEngine;
};

bool Classifier::constructNetwork(INetworkDefinition& network) {
  ITensor* data = network.addInput("data", DataType::kFLOAT, Dims4{-1, 1, 8, 8});
  IConvolutionLayer* conv = network.addConvolutionNd(
      *data, 4, DimsHW{3, 3}, Weights{DataType::kFLOAT, mKernel.data(), int64_t(mKernel.size())},
      Weights{DataType::kFLOAT, mBias.data(), int64_t(mBias.size())});
  if (!conv) return false;
  conv->setStrideNd(DimsHW{1, 1});
  conv->setPaddingNd(DimsHW{1, 1});
  IActivationLayer* relu = network.addActivation(*conv->getOutput(0), ActivationType::kRELU);
  IPoolingLayer* pool = network.addPoolingNd(*relu->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
  pool->setStrideNd(DimsHW{2, 2});
  IShuffleLayer* flat = network.addShuffle(*pool->getOutput(0));
  flat->setReshapeDimensions(Dims2{0, -1});
  for (int i = 0; i < 64 * 10; ++i) mDense.push_back(float(i % 10) * 0.01F);
  IConstantLayer* dense = network.addConstant(
      Dims2{64, 10}, Weights{DataType::kFLOAT, mDense.data(), int64_t(mDense.size())});
  IMatrixMultiplyLayer* product = network.addMatrixMultiply(
      *flat->getOutput(0), MatrixOperation::kNONE, *dense->getOutput(0), MatrixOperation::kNONE);
  ISoftMaxLayer* prob = network.addSoftMax(*product->getOutput(0));
  prob->setAxes(1U << 1);
  prob->getOutput(0)->setName("prob");
  network.markOutput(*prob->getOutput(0));
  return true;
}

bool Classifier::build() {
  auto builder = TrtUniquePtr<IBuilder>(createInferBuilder(gLogger));
  if (!builder) return false;
  auto network = TrtUniquePtr<INetworkDefinition>(builder->createNetworkV2(
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  if (!network || !constructNetwork(*network)) return false;
  auto config = TrtUniquePtr<IBuilderConfig>(builder->createBuilderConfig());
  if (!config) return false;
  config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1U << 28);
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("data", OptProfileSelector::kMIN, Dims4{1, 1, 8, 8});
  profile->setDimensions("data", OptProfileSelector::kOPT, Dims4{1, 1, 8, 8});
  profile->setDimensions("data", OptProfileSelector::kMAX, Dims4{4, 1, 8, 8});
  config->addOptimizationProfile(profile);
  TrtUniquePtr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
  if (!plan) return false;
  mRuntime = std::shared_ptr<IRuntime>(createInferRuntime(gLogger));
  mEngine =
      std::shared_ptr<ICudaEngine>(mRuntime->deserializeCudaEngine(plan->data(), plan->size()));
  return mEngine != nullptr;
}

bool Classifier::infer(std::vector<float> const& image, std::vector<float>& scores) {
  auto context = TrtUniquePtr<IExecutionContext>(mEngine->createExecutionContext());
  if (!context || !context->setInputShape("data", Dims4{1, 1, 8, 8})) return false;
  for (int32_t i = 0, e = mEngine->getNbIOTensors(); i < e; i++) {
    auto const name = mEngine->getIOTensorName(i);
    bool const isInput = mEngine->getTensorIOMode(name) == TensorIOMode::kINPUT;
    void* address = isInput ? const_cast<float*>(image.data()) : scores.data();
    if (!context->setTensorAddress(name, address)) return false;
  }
  return context->enqueueV3(nullptr);
}

int main(int argc, char** argv) {
  static_assert(NV_TENSORRT_MAJOR == 10, "the surface of TensorRT 10");
  initLibNvInferPlugins(&gLogger, "");
  if (!pluginsCanBeMade()) return 1;
  Classifier classifier;
  if (!classifier.build()) return 1;
  std::vector<float> image(64, 1.0F), scores(10);
  if (!classifier.infer(image, scores)) return 1;
  float sum = 0;
  for (float score : scores) sum += score;
  if (std::fabs(sum - 1) > 1e-4F || !(scores[9] > scores[0])) return 1;

  auto builder = TrtUniquePtr<IBuilder>(createInferBuilder(gLogger));
  auto network = TrtUniquePtr<INetworkDefinition>(builder->createNetworkV2(0));
  auto parser = TrtUniquePtr<nvonnxparser::IParser>(nvonnxparser::createParser(*network, gLogger));
  if (!parser || parser->parseFromFile("/nowhere.onnx", 1) || parser->getNbErrors() == 0) return 1;

  // Programs that open the library by its name.
  for (char const* name :
       {"libnvinfer.so.10", "libnvonnxparser.so.10", "libnvinfer_plugin.so.10"}) {
    std::string const path = std::string(argc > 1 ? argv[1] : ".") + "/" + name;
    if (dlopen(path.c_str(), RTLD_NOW) == nullptr) {
      std::cerr << dlerror() << std::endl;
      return 1;
    }
  }
  void* library =
      dlopen((std::string(argc > 1 ? argv[1] : ".") + "/libnvinfer.so.10").c_str(), RTLD_NOW);
  if (dlsym(library, "createInferBuilder_INTERNAL") == nullptr) return 1;
  std::cout << "class 9 has the score " << scores[9] << std::endl;
  return 0;
}
