// Builds a plan of a ReLU, loads it and runs it on the CPU, by the installed headers and libraries
// alone.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <tenon/device.h>

#include <iostream>
#include <memory>

using namespace nvinfer1;

namespace {

class Logger : public ILogger {
  void log(Severity severity, char const* message) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << message << "\n";
  }
} gLogger;

template <typename T> using Owned = std::unique_ptr<T>;

Owned<IHostMemory> build() {
  Owned<IBuilder> builder(createInferBuilder(gLogger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* input = network->addInput("x", DataType::kFLOAT, Dims2{1, 4});
  ITensor* output = network->addActivation(*input, ActivationType::kRELU)->getOutput(0);
  output->setName("y");
  network->markOutput(*output);
  Owned<IBuilderConfig> config(builder->createBuilderConfig());
  tenon::setBuildDevice(*config, tenon::kCpuDevice);
  Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, gLogger));
  return Owned<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

}  // namespace

int main() {
  Owned<IHostMemory> plan = build();
  if (!plan) return 1;
  Owned<IRuntime> runtime(createInferRuntime(gLogger));
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (!engine) return 2;
  Owned<IExecutionContext> context(engine->createExecutionContext());
  float x[4] = {-1, 2, -3, 4};
  float y[4] = {};
  context->setTensorAddress("x", x);
  context->setTensorAddress("y", y);
  if (!context->enqueueV3(nullptr)) return 3;
  std::cout << y[0] << " " << y[1] << " " << y[2] << " " << y[3] << "\n";
  return 0;
}
