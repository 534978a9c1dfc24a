// An output whose size is known only after the run: the context asks an allocator for its memory.
#include "common.h"

namespace {

class Allocator final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t bytes, uint64_t, cudaStream_t) override {
    if (!memory || bytes > bytes_) memory = std::make_unique<example::Buffer>(bytes_ = bytes);
    return memory->data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape = dims; }

  std::unique_ptr<example::Buffer> memory;
  nvinfer1::Dims shape{};

 private:
  uint64_t bytes_ = 0;
};

}  // namespace

int main() {
  example::Build build;
  nvinfer1::ITensor* x =
      build.network->addInput("x", nvinfer1::DataType::kFLOAT, nvinfer1::Dims2{2, 4});
  nvinfer1::ITensor* places =
      build.network->addNonZero(*x, nvinfer1::DataType::kINT64)->getOutput(0);
  places->setName("places");
  build.network->markOutput(*places);
  const auto plan = build.plan();
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());

  const float values[8] = {0, 3, 0, 0, 5, 0, 0, 7};
  example::Buffer input(sizeof values);
  input.write(values, sizeof values);
  Allocator allocator;
  example::require(context->setTensorAddress("x", input.data()) &&
                       context->setOutputAllocator("places", &allocator),
                   "bindings");
  example::require(context->enqueueV3(nullptr), "the run");
  example::require(
      allocator.shape.nbDims == 2 && allocator.shape.d[0] == 2 && allocator.shape.d[1] == 3,
      "three elements");
  int64_t found[6];
  allocator.memory->read(found, sizeof found);
  for (int i = 0; i < 3; ++i)
    std::printf("x[%d][%d] is not zero\n", static_cast<int>(found[i]),
                static_cast<int>(found[3 + i]));
  example::require(found[0] == 0 && found[3] == 1 && found[2] == 1 && found[5] == 3,
                   "their places");
}
