// Plugins of both generations out of one library: load it, make a network of them, run it.
#include "common.h"

using namespace nvinfer1;

int main(int, char** arguments) {
  IPluginRegistry& registry = *getPluginRegistry();
  const IPluginRegistry::PluginLibraryHandle library = registry.loadLibrary(arguments[2]);
  example::require(library != nullptr, "loading the library");
  const int32_t shift = 2;
  const PluginField field{"shift", &shift, PluginFieldType::kINT32, 1};
  const PluginFieldCollection fields{1, &field};
  {
    example::Build build;
    ITensor* x = build.network->addInput("x", DataType::kFLOAT, Dims2{5, 3});
    auto* second = static_cast<IPluginCreator*>(registry.getCreator("ExampleRoll", "1", ""));
    auto* third = static_cast<IPluginCreatorV3One*>(registry.getCreator("ExampleRoll", "2", ""));
    IPluginV2* first_roll = second->createPlugin("roll", &fields);
    const std::unique_ptr<IPluginV3> second_roll(
        third->createPlugin("roll", &fields, TensorRTPhase::kBUILD));
    ITensor* once = build.network->addPluginV2(&x, 1, *first_roll)->getOutput(0);
    ITensor* twice = build.network->addPluginV3(&once, 1, nullptr, 0, *second_roll)->getOutput(0);
    twice->setName("y");
    build.network->markOutput(*twice);
    const auto plan = build.plan();
    first_roll->destroy();

    const std::unique_ptr<IRuntime> runtime(createInferRuntime(example::logger()));
    const auto engine = example::load(*runtime, plan.get());
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    std::vector<float> values(15), results(15);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    example::Buffer in(60), out(60);
    in.write(values.data(), 60);
    example::require(
        context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()),
        "addresses");
    example::require(context->enqueueV3(nullptr), "the run");
    out.read(results.data(), 60);
    for (size_t row = 0; row < 5; ++row)
      for (size_t column = 0; column < 3; ++column)
        example::require(results[(row + 2 * 2) % 5 * 3 + column] == values[row * 3 + column],
                         "rows rotated by four");
  }
  registry.deregisterLibrary(library);
  example::require(registry.getCreator("ExampleRoll", "1", "") == nullptr,
                   "creators that go with their library");
  std::printf("rows rotated by a plugin of each generation\n");
}
