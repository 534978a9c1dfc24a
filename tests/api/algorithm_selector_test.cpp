// IAlgorithmSelector: it is asked for each layer, its answer is the layer's kernel, and it is told
// at the end.
#include <algorithm>
#include <functional>

#include "harness.h"

namespace api_test {
namespace {

using Variant = std::pair<int64_t, int64_t>;

Variant variant_of(const IAlgorithm& algorithm) {
  const IAlgorithmVariant& variant = algorithm.getAlgorithmVariant();
  return {variant.getImplementation(), variant.getTactic()};
}

/// Answers with one choice of each layer, and keeps what it was told.
class Selector final : public IAlgorithmSelector {
 public:
  using Answer = std::function<int32_t(const std::string& layer, int32_t count, int32_t* selected)>;
  explicit Selector(Answer answer) : answer(std::move(answer)) {}

  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                           int32_t count, int32_t* selection) noexcept override {
    std::vector<Variant>& offered = asked[context.getName()];
    for (int32_t i = 0; i < count; ++i) offered.push_back(variant_of(*choices[i]));
    if (look) look(context, *choices[0]);
    return answer(context.getName(), count, selection);
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* chosen,
                        int32_t count) noexcept override {
    ++reports;
    for (int32_t i = 0; i < count; ++i)
      reported.emplace(contexts[i]->getName(), variant_of(*chosen[i]));
  }

  Answer answer;
  std::function<void(const IAlgorithmContext&, const IAlgorithm&)> look;
  std::map<std::string, std::vector<Variant>> asked;
  std::map<std::string, Variant> reported;
  int reports = 0;
};

int32_t nothing(const std::string&, int32_t, int32_t*) {
  return 0;
}
int32_t last_of(const std::string&, int32_t count, int32_t* selected) {
  selected[0] = count - 1;
  return 1;
}

/// A convolution that several kernels can do, on images that vary.
class Convolution : public Session {
 public:
  explicit Convolution(Selector* selector) {
    ITensor* x = input("x", DataType::kFLOAT, {-1, 16, 20, 20});
    profile("x", {1, 16, 20, 20}, {2, 16, 20, 20}, {4, 16, 20, 20});
    auto* layer = network->addConvolutionNd(*x, 16, dims({3, 3}), weights(numbers_), {});
    layer->setPaddingNd(dims({1, 1}));
    layer->setName("conv");
    output(layer->getOutput(0), "y");
    config->setAlgorithmSelector(selector);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    cache_.reset(config->createTimingCache(nullptr, 0));
    EXPECT_TRUE(config->setTimingCache(*cache_, false));
  }
  bool builds() {
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    return plan != nullptr;
  }
  /// The kernel of the convolution.
  std::string kernel() {
    if (!build()) return {};
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    for (int32_t i = 0; i < engine->getNbLayers(); ++i) {
      const std::string text = inspector->getLayerInformation(i, LayerInformationFormat::kONELINE);
      const size_t at = text.find("TacticName: ") + 12;
      if (text.starts_with("Name: conv")) return text.substr(at, text.find(',', at) - at);
    }
    return {};
  }

 private:
  const std::vector<float> numbers_ = std::vector<float>(size_t{16} * 16 * 9, 0.01F);
  std::unique_ptr<ITimingCache> cache_;
};

TEST(AlgorithmSelectors, ChooseTheKernelOfALayer) {
  Selector ours(nothing), other(last_of);
  const std::string usual = Convolution(&ours).kernel();
  Convolution changed(&other);
  const std::string kernel = changed.kernel();
  const std::vector<Variant>& offered = other.asked.at("conv");
  ASSERT_GE(offered.size(), 2U) << "one kernel only";
  EXPECT_EQ(ours.reported.at("conv"), ours.asked.at("conv").front()) << "ours comes first";
  EXPECT_EQ(other.reported.at("conv"), offered.back());
  EXPECT_EQ(other.reports, 1);
  EXPECT_NE(kernel, usual);
  const Arrays results = changed.run({{"x", floats({1, 16, 20, 20}, std::vector<float>(6400, 1))}});
  EXPECT_NEAR(results.at("y").values<float>()[8 * 20 + 8], 1.44, 1e-3);
}

TEST(AlgorithmSelectors, FindTheSameChoicesInEachBuild) {
  Selector first(nothing), second(nothing);
  EXPECT_TRUE(Convolution(&first).builds());
  EXPECT_TRUE(Convolution(&second).builds());
  for (std::vector<Variant>* offered : {&first.asked.at("conv"), &second.asked.at("conv")})
    std::ranges::sort(*offered);
  EXPECT_EQ(first.asked, second.asked);
}

TEST(AlgorithmSelectors, SeeTheLayersOperands) {
  Selector selector(nothing);
  bool seen = false;
  selector.look = [&](const IAlgorithmContext& context, const IAlgorithm& choice) {
    if (context.getName() != std::string("conv")) return;
    seen = true;
    EXPECT_EQ(context.getNbInputs(), 1);
    EXPECT_EQ(context.getNbOutputs(), 1);
    const auto batch = [&](int32_t index, OptProfileSelector select) {
      return context.getDimensions(index, select).d[0];
    };
    for (const int32_t index : {0, 1}) {
      EXPECT_EQ(batch(index, OptProfileSelector::kMIN), 1);
      EXPECT_EQ(batch(index, OptProfileSelector::kOPT), 2);
      EXPECT_EQ(batch(index, OptProfileSelector::kMAX), 4);
      const IAlgorithmIOInfo* info = choice.getAlgorithmIOInfoByIndex(index);
      ASSERT_NE(info, nullptr);
      EXPECT_EQ(info->getDataType(), DataType::kFLOAT);
      EXPECT_EQ(info->getStrides().nbDims, 4);
      EXPECT_EQ(info->getStrides().d[0], 16 * 20 * 20);
      EXPECT_EQ(info->getVectorizedDim(), -1);
      EXPECT_EQ(info->getComponentsPerElement(), 1);
    }
    EXPECT_EQ(context.getDimensions(2, OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(choice.getAlgorithmIOInfoByIndex(2), nullptr);
    EXPECT_GT(choice.getTimingMSec(), 0);
  };
  EXPECT_TRUE(Convolution(&selector).builds());
  EXPECT_TRUE(seen);
}

TEST(AlgorithmSelectors, MayLeaveTheChoiceUnlessThatIsRejected) {
  Selector selector(nothing);
  Convolution session(&selector);
  session.config->setFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
  EXPECT_FALSE(session.builds());
  EXPECT_TRUE(session.log.complained("selected nothing for layer"));
  EXPECT_EQ(selector.reports, 0);
  selector.answer = last_of;
  EXPECT_TRUE(session.builds()) << session.log.text();
}

TEST(AlgorithmSelectors, AnswersThatAreNoneEndTheBuild) {
  Selector selector([](const std::string&, int32_t, int32_t*) { return -1; });
  Convolution session(&selector);
  EXPECT_FALSE(session.builds());
  EXPECT_TRUE(session.log.complained("selectAlgorithms returned -1"));
  selector.answer = [](const std::string&, int32_t count, int32_t* selected) {
    selected[0] = count;
    return 1;
  };
  EXPECT_FALSE(session.builds());
  EXPECT_TRUE(session.log.complained("for layer"));
}

}  // namespace
}  // namespace api_test
