// A network made layer by layer from trained weights, without a model file.
#include "common.h"

using namespace nvinfer1;

namespace {

constexpr int kFilters = 16, kFeatures = kFilters * 16, kClasses = 10;

Weights weights(const float*& at, int64_t count) {
  const Weights part{DataType::kFLOAT, at, count};
  at += count;
  return part;
}

void make(INetworkDefinition& network, const float* at) {
  ITensor* pixels = network.addInput("pixels", DataType::kFLOAT, Dims4{-1, 1, 8, 8});
  const Weights filters = weights(at, kFilters * 9), bias = weights(at, kFilters);
  IConvolutionLayer* conv =
      network.addConvolutionNd(*pixels, kFilters, DimsHW{3, 3}, filters, bias);
  conv->setPaddingNd(DimsHW{1, 1});
  IActivationLayer* relu = network.addActivation(*conv->getOutput(0), ActivationType::kRELU);
  IPoolingLayer* pool = network.addPoolingNd(*relu->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
  pool->setStrideNd(DimsHW{2, 2});
  IShuffleLayer* flat = network.addShuffle(*pool->getOutput(0));
  flat->setReshapeDimensions(
      Dims2{-1, kFeatures});  // The batch follows from the number of elements.
  ITensor* dense =
      network.addConstant(Dims2{kFeatures, kClasses}, weights(at, kFeatures * kClasses))
          ->getOutput(0);
  ITensor* shift = network.addConstant(Dims2{1, kClasses}, weights(at, kClasses))->getOutput(0);
  ITensor* product = network
                         .addMatrixMultiply(*flat->getOutput(0), MatrixOperation::kNONE, *dense,
                                            MatrixOperation::kNONE)
                         ->getOutput(0);
  ITensor* scores =
      network.addElementWise(*product, *shift, ElementWiseOperation::kSUM)->getOutput(0);
  scores->setName("scores");
  network.markOutput(*scores);
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  const std::vector<float> all =
      example::read_floats(folder + "/digits.weights");  // Lives until the plan is built.
  example::Build build;
  make(*build.network, all.data());
  build.profile(1, 16, 64);
  const auto plan = build.plan();
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const double part = example::accuracy(*context, example::read_digits(folder), 16);
  std::printf("%.1f %% of the digits are classified right\n", 100 * part);
  example::require(part > 0.9, "accuracy");
}
