// The editable timing cache: a layer's candidates are in the log, and another choice is obeyed.
#include <algorithm>
#include <sstream>

#include "harness.h"

namespace api_test {
namespace {

/// Keeps all lines.
class Lines final : public ILogger {
 public:
  void log(Severity, const char* message) noexcept override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

/// The log's lines on one layer.
struct Choice {
  std::string layer, key, selected;
  std::vector<std::pair<std::string, std::string>> tactics;  ///< Kernel and hash.
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');)
    fields.push_back(field.substr(
        field.find_first_not_of(' ') == std::string::npos ? 0 : field.find_first_not_of(' ')));
  return fields;
}

std::vector<Choice> choices_of(const std::vector<std::string>& lines) {
  std::vector<Choice> all;
  bool lists = false;
  for (const std::string& line : lines) {
    const std::string start = "Autotuning op ", selected = "(tactic hash, cost(in ms)):";
    if (line.starts_with(start)) {
      const size_t open = line.find("(key: ");
      all.push_back({line.substr(start.size(), open - start.size()),
                     line.substr(open + 6, line.find(')', open) - open - 6),
                     {},
                     {}});
    } else if (line.starts_with("tactic_id, cost(in ms), cost/fastest_cost")) {
      lists = true;
    } else if (const size_t at = line.find(selected); at != std::string::npos && lists) {
      all.back().selected = line.substr(at + selected.size(), line.find(", ", at + 27) - at - 27);
      lists = false;
    } else if (lists) {
      const std::vector<std::string> fields = fields_of(line);
      EXPECT_GE(fields.size(), 6U) << line;
      if (fields.size() >= 6) all.back().tactics.emplace_back(fields[4], fields[5]);
    }
  }
  return all;
}

/// Two equal convolutions with a softmax in between.
struct Convolutions {
  Convolutions() : builder(createInferBuilder(lines)), network(builder->createNetworkV2(0)) {
    config.reset(builder->createBuilderConfig());
    EXPECT_TRUE(tenon::setBuildDevice(*config, gpu() != nullptr ? 0 : tenon::kCpuDevice));
    builder->setMaxThreads(1);
    config->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
    config->setBuilderOptimizationLevel(5);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 16, 20, 20}));
    const Weights none{DataType::kFLOAT, nullptr, 0};
    const Weights kernel{DataType::kFLOAT, numbers.data(), static_cast<int64_t>(numbers.size())};
    const auto convolved = [&](ITensor& from, const char* name) {
      auto* layer = network->addConvolutionNd(from, 16, dims({3, 3}), kernel, none);
      layer->setPaddingNd(dims({1, 1}));
      layer->setName(name);
      return layer;
    };
    ILayer* first = convolved(*x, "first");
    ILayer* softmax = network->addSoftMax(*first->getOutput(0));
    ILayer* second = convolved(*softmax->getOutput(0), "second");
    network->markOutput(*second->getOutput(0));
    cache.reset(config->createTimingCache(nullptr, 0));
    EXPECT_TRUE(config->setTimingCache(*cache, false));
  }

  /// The kernel of that layer in a new build, and its log lines.
  std::string build(const std::string& layer) {
    lines.lines.clear();
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr);
    choices = choices_of(lines.lines);
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(lines));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    for (int32_t i = 0; i < engine->getNbLayers(); ++i) {
      const std::string text = inspector->getLayerInformation(i, LayerInformationFormat::kONELINE);
      if (!text.starts_with("Name: " + layer)) continue;
      const size_t at = text.find("TacticName: ") + 12;
      return text.substr(at, text.find(',', at) - at);
    }
    return {};
  }
  const Choice* choice(const std::string& layer) const {
    for (const Choice& one : choices)
      if (one.layer.starts_with(layer)) return &one;
    return nullptr;
  }

  Lines lines;
  std::vector<float> numbers = std::vector<float>(size_t{16} * 16 * 9, 0.01F);
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config;
  std::unique_ptr<ITimingCache> cache;
  std::vector<Choice> choices;
};

TimingCacheKey key_of(const std::string& text) {
  TimingCacheKey key{};
  for (size_t i = 0; i < 16; ++i)
    key.data[i] = static_cast<uint8_t>(std::stoul(text.substr(2 + 2 * i, 2), nullptr, 16));
  return key;
}

TEST(EditableTimingCache, ObeysAnotherChoice) {
  Convolutions layers;
  const std::string before = layers.build("first");
  const Choice* first = layers.choice("first");
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(first->key.size(), 34U);
  ASSERT_GE(layers.cache->queryKeys(nullptr, 0), 2);
  const TimingCacheKey key = key_of(first->key);
  const auto hash_of = [](const std::string& text) { return std::stoull(text, nullptr, 16); };
  EXPECT_EQ(layers.cache->query(key).tacticHash, hash_of(first->selected));
  const auto other = std::ranges::find_if(
      first->tactics, [&](const auto& tactic) { return tactic.second != first->selected; });
  ASSERT_NE(other, first->tactics.end()) << "there is one kernel only";
  const std::string kernel = other->first;
  const uint64_t hash = hash_of(other->second);
  EXPECT_NE(kernel, before);
  EXPECT_FALSE(layers.cache->update(key, {hash + 1, 1.0F}));
  EXPECT_TRUE(layers.cache->update(key, {hash, 1.0F}));
  EXPECT_EQ(layers.cache->query(key).tacticHash, hash);
  const std::string second = layers.choice("second")->selected;
  EXPECT_EQ(layers.build("first"), kernel);
  EXPECT_EQ(layers.choice("second")->selected, second) << "its equal keeps its own";
}

TEST(EditableTimingCache, RefusesWhatItDoesNotHave) {
  Convolutions layers;
  EXPECT_EQ(layers.cache->queryKeys(nullptr, 0), 0);
  EXPECT_EQ(layers.cache->query({}).tacticHash, TimingCacheValue::kINVALID_TACTIC_HASH);
  layers.lines.lines.clear();
  EXPECT_FALSE(layers.cache->update({}, {1, 1.0F}));
  ASSERT_EQ(layers.lines.lines.size(), 1U);
  EXPECT_NE(layers.lines.lines[0].find("kEDITABLE_TIMING_CACHE"), std::string::npos);
}

}  // namespace
}  // namespace api_test
