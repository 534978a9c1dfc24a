// One plan for two uses: single images at once, and batches of up to 64. Each context takes the
// profile that suits it.
#include "common.h"

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  example::Build build;
  build.parse(folder);
  build.profile(1, 1, 1);
  build.profile(8, 64, 64);
  const auto plan = build.plan();
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  example::require(engine->getNbOptimizationProfiles() == 2, "two profiles");
  const example::Digits digits = example::read_digits(folder);
  for (const int profile : {0, 1}) {
    const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
    example::require(context->setOptimizationProfileAsync(profile, nullptr),
                     "choosing the profile");
    const int batch = profile == 0 ? 1 : 32;
    const double part = example::accuracy(*context, digits, batch);
    std::printf("profile %d, batch %d: %.1f %% right\n", profile, batch, 100 * part);
    example::require(part > 0.9, "accuracy");
    if (profile == 0)  // A batch that the profile does not have is refused.
      example::require(!context->setInputShape("pixels", nvinfer1::Dims4{2, 1, 8, 8}),
                       "refusing batch 2");
  }
}
