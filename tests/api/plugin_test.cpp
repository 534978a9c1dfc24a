// Plugins of both generations: added by calls, written into plans, made again by their creators.
#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using namespace plugin_test;
using F = std::vector<float>;

TEST(Plugin, ThirdGenerationRunsFromAPlan) {
  Registered<RepeatCreator> registered("test");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
  Repeat plugin(3);
  ITensor* inputs[] = {session.network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0)};
  IPluginV3Layer* layer = session.network->addPluginV3(inputs, 1, nullptr, 0, plugin);
  ASSERT_NE(layer, nullptr) << session.log.text();
  layer->setName("repeat");
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  EXPECT_EQ(&layer->getPlugin(), static_cast<IPluginV3*>(&plugin));
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 2}));
  session.output(
      session.network->addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0),
      "y");
  session.profile("x", {1, 2}, {2, 2}, {4, 2});
  const Array y = session.run({{"x", floats({2, 2}, {-1, 2, 3, -4})}})["y"];
  EXPECT_EQ(y.extents, (std::vector<int64_t>{4, 2}));
  expect_near(y, {3, 0, 0, 12, 3, 0, 0, 12});
  EXPECT_EQ(registered.creator.last_phase, TensorRTPhase::kRUNTIME);
  expect_near(session.run({{"x", floats({1, 2}, {-1, -2})}})["y"], {3, 6, 3, 6});
  std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  EXPECT_NE(
      std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON)).find("repeat"),
      std::string::npos);
}

TEST(Plugin, SecondGenerationRunsFromAPlan) {
  Registered<OffsetCreator> registered("");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3});
  Offset plugin(0.5F);
  IPluginV2Layer* layer = session.network->addPluginV2(&x, 1, plugin);
  ASSERT_NE(layer, nullptr) << session.log.text();
  session.output(layer->getOutput(0), "y");
  expect_near(session.run({{"x", floats({3}, {1, 2, 3})}})["y"], {1.5F, 2.5F, 3.5F});
}

TEST(Plugin, WhatIsWrongIsExplained) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  Repeat plugin(3);
  IPluginV3Layer* layer = session.network->addPluginV3(&x, 1, nullptr, 0, plugin);
  session.output(layer->getOutput(0), "y");
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("no creator"));
  EXPECT_EQ(session.network->addPluginV3(nullptr, 1, nullptr, 0, plugin), nullptr);
  EXPECT_TRUE(session.log.complained("addPluginV3"));
  ITensor* whole = session.input("whole", DataType::kINT32, {2, 2});
  IPluginV3Layer* other = session.network->addPluginV3(&whole, 1, nullptr, 0, plugin);
  EXPECT_EQ(other->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(session.log.complained("does not take input 0"));
}

TEST(Plugin, FailuresOfEnqueueComeOut) {
  Registered<RepeatCreator> registered("test");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2});
  Repeat plugin(-1);
  session.output(session.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0), "y");
  ASSERT_TRUE(session.build());
  F in(2), out(4);
  session.context->setTensorAddress("x", in.data());
  session.context->setTensorAddress("y", out.data());
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("Repeat"));
}

TEST(Plugin, RegistryFindsByNameVersionAndNamespace) {
  IPluginRegistry& registry = *getPluginRegistry();
  EXPECT_EQ(registry.getCreator("Repeat", "1", "test"), nullptr);
  Registered<RepeatCreator> registered("test");
  EXPECT_EQ(registry.getCreator("Repeat", "1", "test"), &registered.as_interface());
  EXPECT_EQ(registry.getCreator("Repeat", "2", "test"), nullptr);
  EXPECT_EQ(registry.getCreator("Repeat", "1", ""), nullptr);
  EXPECT_FALSE(registry.registerCreator(registered.as_interface(), "test"));
  int32_t count = 0;
  EXPECT_NE(registry.getAllCreators(&count), nullptr);
  EXPECT_GE(count, 1);
  EXPECT_EQ(registry.loadLibrary("/nowhere/libnothing.so"), nullptr);
}

}  // namespace
}  // namespace api_test
