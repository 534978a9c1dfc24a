// New weights for a plan that is there: no build, the same kernels.
#include "common.h"

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  example::Build build;
  build.parse(folder);
  build.profile(16, 16, 16);
  build.config->setFlag(nvinfer1::BuilderFlag::kREFIT);
  const auto plan = build.plan();
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  const example::Digits digits = example::read_digits(folder);
  const auto part_right = [&] {
    const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
    return example::accuracy(*context, digits, 16);
  };
  const double before = part_right();

  const auto set_dense = [&](const std::vector<float>& values) {
    const std::unique_ptr<nvinfer1::IRefitter> refitter(
        nvinfer1::createInferRefitter(*engine, example::logger()));
    const nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, values.data(),
                                    static_cast<int64_t>(values.size())};
    example::require(refitter->setNamedWeights("dense", weights), "naming the weights");
    example::require(refitter->refitCudaEngine(), "the refit");
  };
  const std::vector<float> all = example::read_floats(folder + "/digits.weights");
  std::vector<float> dense(all.begin() + 16 * 9 + 16, all.begin() + 16 * 9 + 16 + 2560);
  set_dense(std::vector<float>(dense.size(), 0));
  const double without = part_right();
  set_dense(dense);
  const double after = part_right();
  std::printf("trained weights %.1f %% right, zeros %.1f %%, trained again %.1f %%\n", 100 * before,
              100 * without, 100 * after);
  example::require(before > 0.9 && without < 0.3 && after == before, "accuracy");
}
