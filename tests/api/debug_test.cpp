// Debug tensors: values inside a network that a listener sees after each run.
#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

class Listener final : public IDebugListener {
 public:
  bool processDebugTensor(const void* address, TensorLocation where, DataType type,
                          const Dims& shape, const char* name, cudaStream_t) override {
    EXPECT_EQ(where, TensorLocation::kHOST);
    EXPECT_EQ(type, DataType::kFLOAT);
    size_t count = 1;
    for (int i = 0; i < shape.nbDims; ++i) count *= static_cast<size_t>(shape.d[i]);
    const auto* values = static_cast<const float*>(address);
    seen[name] = F(values, values + count);
    return !refuses;
  }
  std::map<std::string, F> seen;
  bool refuses = false;
};

/// y = relu(2 x + 1), whose parts "twice" and "sum" would be one kernel.
struct Chain : Session {
  ITensor *x, *twice, *sum;
  Chain() {
    x = input("x", DataType::kFLOAT, {-1});
    twice =
        network->addElementWise(*x, *constant({1}, {2}), ElementWiseOperation::kPROD)->getOutput(0);
    twice->setName("twice");
    sum = network->addElementWise(*twice, *constant({1}, {1}), ElementWiseOperation::kSUM)
              ->getOutput(0);
    sum->setName("sum");
    output(network->addActivation(*sum, ActivationType::kRELU)->getOutput(0), "y");
    profile("x", {1}, {3}, {4});
  }
};

/// As a parser's helping layers have them; engines find tensors by their names.
TEST(DebugTensors, ThoseWithoutANameGetOne) {
  Chain session;
  session.twice->setName("");
  session.sum->setName("");
  EXPECT_TRUE(session.network->markDebug(*session.twice));
  EXPECT_TRUE(session.network->markDebug(*session.sum));
  ASSERT_TRUE(session.build());
  Listener listener;
  EXPECT_TRUE(session.context->setDebugListener(&listener));
  EXPECT_TRUE(session.context->setAllTensorsDebugState(true));
  EXPECT_EQ(session.run({{"x", floats({3}, {1, -2, 3})}})["y"].values<float>(), (F{3, 0, 7}));
  EXPECT_EQ(listener.seen.size(), 2U);
  EXPECT_FALSE(listener.seen.contains(""));
}

TEST(DebugTensors, ListenersSeeWhatIsEnabled) {
  Chain session;
  EXPECT_TRUE(session.network->markDebug(*session.twice));
  EXPECT_TRUE(session.network->markDebug(*session.sum));
  EXPECT_TRUE(session.network->isDebugTensor(*session.sum));
  EXPECT_FALSE(session.network->isDebugTensor(*session.x));
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(session.engine->isDebugTensor("twice"));
  EXPECT_FALSE(session.engine->isDebugTensor("y"));
  EXPECT_EQ(session.engine->getNbIOTensors(), 2);
  EXPECT_EQ(session.engine->getTensorIOMode("twice"), TensorIOMode::kNONE);
  Listener listener;
  EXPECT_TRUE(session.context->setDebugListener(&listener));
  EXPECT_EQ(session.context->getDebugListener(), &listener);
  session.run({{"x", floats({3}, {1, -2, 3})}});
  EXPECT_TRUE(listener.seen.empty());
  EXPECT_TRUE(session.context->setTensorDebugState("twice", true));
  EXPECT_TRUE(session.context->getDebugState("twice"));
  EXPECT_EQ(session.run({{"x", floats({3}, {1, -2, 3})}})["y"].values<float>(), (F{3, 0, 7}));
  EXPECT_EQ(listener.seen, (std::map<std::string, F>{{"twice", {2, -4, 6}}}));
  EXPECT_TRUE(session.context->setAllTensorsDebugState(true));
  session.run({{"x", floats({4}, {1, 1, 1, -2})}});
  EXPECT_EQ(listener.seen["sum"], (F{3, 3, 3, -3}));
  EXPECT_EQ(listener.seen["twice"], (F{2, 2, 2, -4}));
}

TEST(DebugTensors, OutputsCanBeDebugTensorsToo) {
  Chain session;
  EXPECT_TRUE(session.network->markDebug(*session.network->getOutput(0)));
  ASSERT_TRUE(session.build());
  EXPECT_EQ(session.engine->getNbIOTensors(), 2);
  Listener listener;
  session.context->setDebugListener(&listener);
  session.context->setAllTensorsDebugState(true);
  session.run({{"x", floats({1}, {5})}});
  EXPECT_EQ(listener.seen, (std::map<std::string, F>{{"y", {11}}}));
}

TEST(DebugTensors, InputsCanBeDebugTensorsToo) {
  Chain session;
  EXPECT_TRUE(session.network->markDebug(*session.x));
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(session.engine->isDebugTensor("x"));
  EXPECT_EQ(session.engine->getTensorIOMode("x"), TensorIOMode::kINPUT);
  Listener listener;
  session.context->setDebugListener(&listener);
  session.context->setAllTensorsDebugState(true);
  EXPECT_EQ(session.run({{"x", floats({2}, {5, 6})}})["y"].values<float>(), (F{11, 13}));
  EXPECT_EQ(listener.seen, (std::map<std::string, F>{{"x", {5, 6}}}));
}

/// Two products with a sum between: what is fused away is not seen, and the plan is not another.
TEST(DebugTensors, UnfusedTensorsAreThoseOfThePlan) {
  for (const bool marked : {true, false}) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
    const auto product = [&](ITensor& left, const char* name) {
      ITensor* w = session.constant({2, 2}, {1, 0, 0, 2});
      ITensor* y = session.network
                       ->addMatrixMultiply(left, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
                       ->getOutput(0);
      y->setName(name);
      return y;
    };
    ITensor* first = product(*x, "first");
    ITensor* active = session.network->addActivation(*first, ActivationType::kRELU)->getOutput(0);
    active->setName("active");
    session.output(product(*active, "second"), "y");
    if (marked) {
      EXPECT_TRUE(session.network->markUnfusedTensorsAsDebugTensors());
    }
    ASSERT_TRUE(session.build());
    EXPECT_EQ(session.engine->getNbIOTensors(), 2);
    Listener listener;
    session.context->setDebugListener(&listener);
    EXPECT_FALSE(session.context->getUnfusedTensorsDebugState());
    EXPECT_EQ(session.context->setUnfusedTensorsDebugState(true), marked);
    EXPECT_EQ(session.context->getUnfusedTensorsDebugState(), marked);
    const Arrays outputs = session.run({{"x", floats({2, 2}, {1, -2, 3, 4})}});
    EXPECT_EQ(outputs.at("y").values<float>(), (F{1, 0, 3, 16}));
    if (!marked) {
      EXPECT_TRUE(listener.seen.empty());
      continue;
    }
    EXPECT_EQ(listener.seen["active"], (F{1, 0, 3, 8}));
    EXPECT_EQ(listener.seen["y"], (F{1, 0, 3, 16}));
    EXPECT_EQ(listener.seen.count("first"), 0U) << "it lies inside of a layer";
    listener.seen.clear();
    EXPECT_TRUE(session.context->setUnfusedTensorsDebugState(false));
    session.run({{"x", floats({2, 2}, {1, -2, 3, 4})}});
    EXPECT_TRUE(listener.seen.empty());
  }
}

/// Such shapes are known behind the run alone, which the listener sees.
TEST(DebugTensors, HaveTheShapesThatDependOnData) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {4});
  auto* places = session.network->addNonZero(*x)->getOutput(0);
  auto* reals = session.network->addCast(*places, DataType::kFLOAT)->getOutput(0);
  reals->setName("reals");
  session.output(session.network->addActivation(*reals, ActivationType::kRELU)->getOutput(0), "y");
  EXPECT_TRUE(session.network->markDebug(*reals));
  EXPECT_TRUE(session.network->markDebug(*session.network->getOutput(0)));
  ASSERT_TRUE(session.build());
  Listener listener;
  session.context->setDebugListener(&listener);
  session.context->setAllTensorsDebugState(true);
  session.run({{"x", floats({4}, {0, 1, 0, 2})}});
  EXPECT_EQ(listener.seen, (std::map<std::string, F>{{"reals", {1, 3}}, {"y", {1, 3}}}));
  session.run({{"x", floats({4}, {0, 0, 0, 0})}});
  EXPECT_EQ(listener.seen, (std::map<std::string, F>{{"reals", {}}, {"y", {}}}));
}

TEST(DebugTensors, RefusalsHaveReasons) {
  Chain session;
  EXPECT_TRUE(session.network->markDebug(*session.sum));
  EXPECT_TRUE(session.network->unmarkDebug(*session.sum));
  EXPECT_FALSE(session.network->unmarkDebug(*session.sum));
  EXPECT_TRUE(session.network->markDebug(*session.twice));
  ASSERT_TRUE(session.build());
  EXPECT_FALSE(session.context->setTensorDebugState("sum", true));
  EXPECT_TRUE(session.log.complained("'sum'"));
  EXPECT_FALSE(session.context->setUnfusedTensorsDebugState(true));
  EXPECT_TRUE(session.log.complained("markUnfusedTensorsAsDebugTensors"));
  Listener listener;
  listener.refuses = true;
  session.context->setDebugListener(&listener);
  session.context->setAllTensorsDebugState(true);
  F x = {1}, y = {0};
  EXPECT_TRUE(session.context->setInputShape("x", dims({1})));
  void* bindings[] = {x.data(), y.data()};
  EXPECT_FALSE(session.context->executeV2(bindings));
  EXPECT_TRUE(session.log.complained("twice"));
}

}  // namespace
}  // namespace api_test
