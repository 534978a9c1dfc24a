// Branches on streams of their own, and a run that is recorded once and replayed. Without a GPU the
// same engine runs on the CPU.
#include "common.h"

namespace {

struct Run {
  nvinfer1::IExecutionContext* context;
  cudaStream_t stream;
};

bool enqueue(void* run) {
  const Run& it = *static_cast<Run*>(run);
  return it.context->enqueueV3(it.stream);
}

}  // namespace

int main() {
  example::Build build;
  nvinfer1::ITensor* x =
      build.network->addInput("x", nvinfer1::DataType::kFLOAT, nvinfer1::Dims2{8, 64});
  std::vector<float> weights(64 * 64, 0.01F);
  const nvinfer1::Weights shared{nvinfer1::DataType::kFLOAT, weights.data(), 64 * 64};
  nvinfer1::ITensor* sum = nullptr;
  for (int branch = 0; branch < 4; ++branch) {  // Four branches that do not depend on each other.
    nvinfer1::ITensor* matrix =
        build.network->addConstant(nvinfer1::Dims2{64, 64}, shared)->getOutput(0);
    nvinfer1::ITensor* y = build.network
                               ->addMatrixMultiply(*x, nvinfer1::MatrixOperation::kNONE, *matrix,
                                                   nvinfer1::MatrixOperation::kNONE)
                               ->getOutput(0);
    y = build.network->addActivation(*y, nvinfer1::ActivationType::kRELU)->getOutput(0);
    sum = sum == nullptr
              ? y
              : build.network->addElementWise(*sum, *y, nvinfer1::ElementWiseOperation::kSUM)
                    ->getOutput(0);
  }
  sum->setName("y");
  build.network->markOutput(*sum);
  build.config->setMaxAuxStreams(3);
  const auto plan = build.plan();
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  std::printf("%d streams beside the main one\n", engine->getNbAuxStreams());

  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> ones(8 * 64, 1);
  example::Buffer in(ones.size() * sizeof(float)), out(ones.size() * sizeof(float));
  in.write(ones.data(), ones.size() * sizeof(float));
  example::require(
      context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()),
      "addresses");
  tenon::IGpu* gpu = example::gpu();
  if (gpu == nullptr) {
    example::require(context->enqueueV3(nullptr), "the run");
  } else {
    cudaStream_t stream = gpu->createStream();
    example::require(context->enqueueV3(stream) && gpu->synchronize(stream),
                     "the run ahead of recording");
    Run run{context.get(), stream};
    void* graph = gpu->capture(stream, enqueue, &run);
    example::require(graph != nullptr, "recording");
    for (int i = 0; i < 10; ++i) example::require(gpu->launchGraph(graph, stream), "a replay");
    example::require(gpu->synchronize(stream), "the replays");
    gpu->destroy(graph);
    gpu->destroy(stream);
  }
  std::vector<float> results(ones.size());
  out.read(results.data(), results.size() * sizeof(float));
  for (const float result : results)
    example::require(result > 2.55F && result < 2.57F, "4 * 64 * 0.01");
  std::printf("right%s\n",
              gpu == nullptr ? "; no GPU here, nothing was recorded" : ", replayed ten times");
}
