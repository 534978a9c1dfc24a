// A model from ONNX: parse, build, write the plan, load it, classify.
#include "common.h"

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  example::Build build;
  build.parse(folder);
  build.profile(1, 16, 64);
  const auto plan = build.plan();
  example::require(plan != nullptr, "the build");
  std::ofstream(folder + "/digits.plan", std::ios::binary)
      .write(static_cast<const char*>(plan->data()), static_cast<std::streamsize>(plan->size()));

  // An application starts here: it needs the plan and the runtime alone.
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  const double part = example::accuracy(*context, example::read_digits(folder), 16);
  std::printf("%.1f %% of the digits are classified right\n", 100 * part);
  example::require(part > 0.9, "accuracy");
}
