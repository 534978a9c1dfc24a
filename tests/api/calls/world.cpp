#include "world.h"

#include <cstring>
#include <numeric>

namespace nvonnxparser {
TENSORRTAPI IOnnxConfig* createONNXConfig();
}  // namespace nvonnxparser

namespace api_calls {
namespace {

using api_test::dims;

constexpr size_t kMemoryBytes = 1 << 20;

/// y = x w, which can be refitted, for batches of 1 to 4.
std::vector<std::byte> small_plan() {
  Log log;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  tenon::setBuildDevice(*config, tenon::kCpuDevice);
  config->setFlag(BuilderFlag::kREFIT);
  config->setBuilderOptimizationLevel(0);
  ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 4}));
  const std::vector<float> values(16, 0.5F);
  IConstantLayer* w = network->addConstant(dims({4, 4}), {DataType::kFLOAT, values.data(), 16});
  w->setName("w");
  IMatrixMultiplyLayer* product = network->addMatrixMultiply(
      *x, MatrixOperation::kNONE, *w->getOutput(0), MatrixOperation::kNONE);
  network->markDebug(*product->getOutput(0));
  ITensor* y = network->addActivation(*product->getOutput(0), ActivationType::kRELU)->getOutput(0);
  y->setName("y");
  network->markOutput(*y);
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 4}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({4, 4}));
  config->addOptimizationProfile(profile);
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_NE(plan, nullptr) << log.text();
  if (plan == nullptr) return {};
  const auto* bytes = static_cast<const std::byte*>(plan->data());
  return {bytes, bytes + plan->size()};
}

}  // namespace

const std::vector<std::byte>& World::plan() const {
  static const std::vector<std::byte> bytes = small_plan();
  return bytes;
}

/// Memory holds finite numbers from the start: weights have to be finite.
World::World()
    : builder(createInferBuilder(log)),
      network(builder->createNetworkV2(0)),
      other_network(builder->createNetworkV2(0)),
      config(builder->createBuilderConfig()),
      memory_(kMemoryBytes) {
  std::memset(memory(), 0, kMemoryBytes);
  tenon::setBuildDevice(*config, tenon::kCpuDevice);
  config->setBuilderOptimizationLevel(0);
  builder->setErrorRecorder(&recorder);
  network->setErrorRecorder(&recorder);
  other_network->setErrorRecorder(&recorder);
  profile = builder->createOptimizationProfile();
  timing_cache.reset(config->createTimingCache(nullptr, 0));
  runtime.reset(createInferRuntime(log));
  runtime->setErrorRecorder(&recorder);
  engine.reset(runtime->deserializeCudaEngine(plan().data(), plan().size()));
  engine->setErrorRecorder(&recorder);
  context.reset(engine->createExecutionContext());
  context->setErrorRecorder(&recorder);
  context->setInputShape("x", dims({2, 4}));
  context->setTensorAddress("x", memory());
  context->setTensorAddress("y", static_cast<std::byte*>(memory()) + 4096);
  inspector.reset(engine->createEngineInspector());
  inspector->setErrorRecorder(&recorder);
  refitter.reset(createInferRefitter(*engine, log));
  refitter->setErrorRecorder(&recorder);
  serialization.reset(engine->createSerializationConfig());
  runtime_config.reset(engine->createRuntimeConfig());
  host_memory.reset(engine->serialize());
  parser.reset(nvonnxparser::createParser(*other_network, log));
  (void)parser->parse("none", 4, nullptr);
  parser_refitter.reset(nvonnxparser::createParserRefitter(*refitter, log));
  onnx_config.reset(nvonnxparser::createONNXConfig());
  getPluginRegistry()->setErrorRecorder(&recorder);
  add_layers();
  std::fill(tensors.begin(), tensors.end(), tensor);
  recorder.errors.clear();
}

World::~World() {
  getPluginRegistry()->setErrorRecorder(nullptr);
}

ILayer* World::layer_where(bool (*is)(ILayer*)) const {
  for (int32_t i = 0; i < network->getNbLayers(); ++i)
    if (is(network->getLayer(i))) return network->getLayer(i);
  return nullptr;
}

void World::add_layers() {
  INetworkDefinition& n = *network;
  const auto constant = [&](std::initializer_list<int64_t> extents, float value) -> ITensor& {
    const int64_t count =
        std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies());
    kept_.push_back(std::make_unique<std::vector<float>>(count, value));
    return *n.addConstant(dims(extents), {DataType::kFLOAT, kept_.back()->data(), count})
                ->getOutput(0);
  };
  static constexpr std::array<int32_t, 2> kIntegers{1, 0};
  const auto integers = [&](std::initializer_list<int64_t> extents, int64_t count) -> ITensor& {
    return *n.addConstant(dims(extents), {DataType::kINT32, kIntegers.data(), count})->getOutput(0);
  };
  tensor = n.addInput("image", DataType::kFLOAT, dims({1, 4, 8, 8}));
  other_tensor = n.addInput("matrix", DataType::kFLOAT, dims({4, 4}));
  foreign_tensor = other_network->addInput("foreign", DataType::kFLOAT, dims({1, 4, 8, 8}));
  ITensor &x = *tensor, &m = *other_tensor, &one = integers({}, 1);
  ITensor& flag = *n.addUnary(*n.addCast(one, DataType::kBOOL)->getOutput(0), UnaryOperation::kNOT)
                       ->getOutput(0);
  const std::vector<float>& filter =
      *kept_.emplace_back(std::make_unique<std::vector<float>>(64, 0.1F));
  const Weights weights{DataType::kFLOAT, filter.data(), 16},
      four{DataType::kFLOAT, filter.data(), 4};
  n.addConvolutionNd(x, 4, dims({1, 1}), weights, four);
  n.addDeconvolutionNd(x, 4, dims({1, 1}), weights, four);
  n.addPoolingNd(x, PoolingType::kMAX, dims({2, 2}));
  n.addLRN(x, 3, 1, 1, 1);
  n.addScale(x, ScaleMode::kCHANNEL, four, four, four);
  n.addSoftMax(m);
  n.addConcatenation(tensors.data(), 0);
  ITensor* const pair[] = {&m, &m};
  n.addConcatenation(pair, 2);
  n.addEinsum(pair, 2, "ij,jk->ik");
  n.addElementWise(m, m, ElementWiseOperation::kSUM);
  n.addGather(m, one, 0);
  n.addReduce(m, ReduceOperation::kSUM, 1, true);
  n.addPaddingNd(x, dims({1, 1}), dims({1, 1}));
  n.addShuffle(m);
  n.addSlice(m, dims({0, 0}), dims({2, 2}), dims({1, 1}));
  n.addShape(m);
  n.addTopK(m, TopKOperation::kMAX, 2, 1);
  n.addMatrixMultiply(m, MatrixOperation::kNONE, m, MatrixOperation::kNONE);
  n.addNonZero(m);
  n.addIdentity(m);
  n.addParametricReLU(x, constant({1, 4, 1, 1}, 0.1F));
  n.addResize(x);
  n.addRaggedSoftMax(*n.addInput("ragged", DataType::kFLOAT, dims({1, 2, 4})),
                     *n.addInput("bounds", DataType::kINT32, dims({1, 2, 1})));
  n.addSelect(*n.addElementWise(m, m, ElementWiseOperation::kLESS)->getOutput(0), m, m);
  n.addAssertion(flag, "flag");
  n.addFill(dims({2, 2}), FillOperation::kLINSPACE, DataType::kFLOAT);
  n.addDynamicQuantize(m, 1, 4, DataType::kFP4, DataType::kFP8);
  ITensor& scale = constant({}, 0.1F);
  n.addDequantize(*n.addQuantize(m, scale, DataType::kINT8)->getOutput(0), scale, DataType::kFLOAT);
  n.addScatter(m, integers({1, 2}, 2), constant({1}, 1), ScatterMode::kND);
  n.addOneHot(integers({2}, 2), constant({2}, 1), one, 0);
  n.addGridSample(x, constant({1, 2, 2, 2}, 0.5F));
  n.addNMS(constant({1, 2, 4}, 0.5F), constant({1, 2, 1}, 0.5F), one);
  n.addReverseSequence(constant({2, 2}, 1), integers({2}, 2));
  n.addNormalizationV2(x, constant({1, 4, 1, 1}, 1), constant({1, 4, 1, 1}, 0), 4);
  n.addCumulative(m, one, CumulativeOperation::kSUM, false, false);
  ITensor& heads = constant({1, 2, 2, 4}, 0.5F);
  attention = n.addAttention(heads, heads, heads, AttentionNormalizationOp::kSOFTMAX, false);
  n.addRotaryEmbedding(heads, constant({1, 2, 2}, 1), constant({1, 2, 2}, 0), false, 4);
  n.addKVCacheUpdate(*n.addInput("cache", DataType::kFLOAT, dims({1, 2, 8, 4})), heads,
                     integers({1}, 1), KVCacheMode::kLINEAR);
  n.addMoE(constant({1, 2, 4}, 1), *n.addInput("experts", DataType::kINT32, dims({1, 2, 1})),
           constant({1, 2, 1}, 1));
  n.addSqueeze(x, one);
  n.addUnsqueeze(m, one);
  n.addDistCollective(m, CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, -1, nullptr, 0);
  ITensor* const matrix[] = {&m};
  n.addPluginV2(matrix, 1, offset);
  n.addPluginV3(matrix, 1, nullptr, 0, repeat);
  loop = n.addLoop();
  loop->addTripLimit(one, TripLimit::kCOUNT);
  ITensor* element = loop->addIterator(m, 0, false)->getOutput(0);
  IRecurrenceLayer* state = loop->addRecurrence(constant({4}, 0));
  state->setInput(
      1,
      *n.addElementWise(*state->getOutput(0), *element, ElementWiseOperation::kSUM)->getOutput(0));
  loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE, 0);
  conditional = n.addIfConditional();
  conditional->setCondition(flag);
  ITensor* inside = conditional->addInput(m)->getOutput(0);
  conditional->addOutput(*n.addUnary(*inside, UnaryOperation::kNEG)->getOutput(0), *inside);
  n.markOutput(*n.addActivation(m, ActivationType::kRELU)->getOutput(0));
}

#define TENON_SUBJECT(Class, expression)       \
  template <> Class* World::subject<Class>() { \
    return expression;                         \
  }
TENON_SUBJECT(IPluginRegistry, getPluginRegistry())
TENON_SUBJECT(IHostMemory, host_memory.get())
TENON_SUBJECT(IRuntime, runtime.get())
TENON_SUBJECT(IRefitter, refitter.get())
TENON_SUBJECT(IOptimizationProfile, profile)
TENON_SUBJECT(ISerializationConfig, serialization.get())
TENON_SUBJECT(IRuntimeConfig, runtime_config.get())
TENON_SUBJECT(ICudaEngine, engine.get())
TENON_SUBJECT(IExecutionContext, context.get())
TENON_SUBJECT(IEngineInspector, inspector.get())
TENON_SUBJECT(ITensor, tensor)
TENON_SUBJECT(ILoop, loop)
TENON_SUBJECT(IIfConditional, conditional)
TENON_SUBJECT(IAttention, attention)
TENON_SUBJECT(INetworkDefinition, network.get())
TENON_SUBJECT(IBuilderConfig, config.get())
TENON_SUBJECT(IBuilder, builder.get())
TENON_SUBJECT(ITimingCache, timing_cache.get())
TENON_SUBJECT(nvonnxparser::IParser, parser.get())
TENON_SUBJECT(nvonnxparser::IParserRefitter, parser_refitter.get())
TENON_SUBJECT(nvonnxparser::IOnnxConfig, onnx_config.get())

template <> const nvonnxparser::IParserError* World::subject<const nvonnxparser::IParserError>() {
  return parser->getError(0);
}

}  // namespace api_calls
