// Every setting is given back as it was set: layers, builder configurations, runtimes, contexts.
#include <fstream>

#include "harness.h"

namespace api_test {
namespace {

template <class T> void expect_same(const T& expected, const T& actual) {
  EXPECT_EQ(expected, actual);
}
void expect_same(const Dims& expected, const Dims& actual) {
  EXPECT_EQ(extents_of(expected), extents_of(actual));
}
void expect_same(const char* expected, const char* actual) {
  EXPECT_STREQ(expected, actual);
}
void expect_same(const Weights& expected, const Weights& actual) {
  EXPECT_EQ(expected.values, actual.values);
  EXPECT_EQ(expected.count, actual.count);
}

/// Sets the value, and gets it.
template <class O, class B, class R, class P, class G, class V>
void kept(O& object, R (B::*set)(P) noexcept, G get, V value) {
  if constexpr (std::is_same_v<R, bool>)
    EXPECT_TRUE((object.*set)(value));
  else
    (object.*set)(value);
  using Kept = std::decay_t<decltype((object.*get)())>;
  expect_same(static_cast<Kept>(value), (object.*get)());
}
#define KEPT(object, type, name, value) kept(object, &type::set##name, &type::get##name, value)

struct Layers : Session {
  ITensor* image = input("image", DataType::kFLOAT, {1, 4, 8, 8});
  ITensor* matrix = input("matrix", DataType::kFLOAT, {4, 4});
  Weights ones = weights(std::vector<float>(4 * 4 * 3 * 3, 1));
};

template <class Layer> void keeps_settings_of_a_convolution(Layers& s, Layer& c) {
  KEPT(c, Layer, StrideNd, dims({2, 2}));
  KEPT(c, Layer, PaddingNd, dims({1, 1}));
  KEPT(c, Layer, PrePadding, dims({1, 0}));
  KEPT(c, Layer, PostPadding, dims({0, 1}));
  KEPT(c, Layer, DilationNd, dims({2, 1}));
  KEPT(c, Layer, KernelSizeNd, dims({1, 3}));
  KEPT(c, Layer, NbGroups, 2);
  KEPT(c, Layer, NbOutputMaps, 8);
  KEPT(c, Layer, PaddingMode, PaddingMode::kSAME_UPPER);
  KEPT(c, Layer, KernelWeights, s.weights({1, 2}));
  KEPT(c, Layer, BiasWeights, s.weights({1, 2, 3}));
}

TEST(Settings, OfConvolutions) {
  Layers s;
  const Dims size = dims({3, 3});
  keeps_settings_of_a_convolution(s, *s.network->addConvolutionNd(*s.image, 4, size, s.ones, {}));
  keeps_settings_of_a_convolution(s, *s.network->addDeconvolutionNd(*s.image, 4, size, s.ones, {}));
}

TEST(Settings, OfWindowsAndScales) {
  Layers s;
  auto& p = *s.network->addPoolingNd(*s.image, PoolingType::kMAX, dims({2, 2}));
  KEPT(p, IPoolingLayer, PoolingType, PoolingType::kAVERAGE);
  KEPT(p, IPoolingLayer, WindowSizeNd, dims({3, 3}));
  KEPT(p, IPoolingLayer, StrideNd, dims({2, 2}));
  KEPT(p, IPoolingLayer, PaddingNd, dims({1, 1}));
  KEPT(p, IPoolingLayer, PrePadding, dims({1, 0}));
  KEPT(p, IPoolingLayer, PostPadding, dims({0, 1}));
  KEPT(p, IPoolingLayer, PaddingMode, PaddingMode::kEXPLICIT_ROUND_UP);
  KEPT(p, IPoolingLayer, BlendFactor, 0.5F);
  KEPT(p, IPoolingLayer, AverageCountExcludesPadding, false);
  auto& l = *s.network->addLRN(*s.image, 3, 1, 2, 3);
  KEPT(l, ILRNLayer, WindowSize, 5);
  KEPT(l, ILRNLayer, Alpha, 0.5F);
  KEPT(l, ILRNLayer, Beta, 0.25F);
  KEPT(l, ILRNLayer, K, 2.0F);
  auto& c = *s.network->addScaleNd(*s.image, ScaleMode::kUNIFORM, {}, {}, {}, 1);
  KEPT(c, IScaleLayer, Mode, ScaleMode::kCHANNEL);
  KEPT(c, IScaleLayer, Shift, s.weights({1, 2, 3, 4}));
  KEPT(c, IScaleLayer, Scale, s.weights({2, 2, 3, 4}));
  KEPT(c, IScaleLayer, Power, s.weights({1, 1, 1, 1}));
  KEPT(c, IScaleLayer, ChannelAxis, 2);
  auto& g = *s.network->addPaddingNd(*s.image, dims({0, 0}), dims({0, 0}));
  KEPT(g, IPaddingLayer, PrePaddingNd, dims({1, 2}));
  KEPT(g, IPaddingLayer, PostPaddingNd, dims({2, 1}));
}

TEST(Settings, OfElementwiseLayers) {
  Layers s;
  auto& a = *s.network->addActivation(*s.image, ActivationType::kRELU);
  KEPT(a, IActivationLayer, ActivationType, ActivationType::kELU);
  KEPT(a, IActivationLayer, Alpha, 0.5F);
  KEPT(a, IActivationLayer, Beta, 0.25F);
  auto& e = *s.network->addElementWise(*s.image, *s.image, ElementWiseOperation::kSUM);
  KEPT(e, IElementWiseLayer, Operation, ElementWiseOperation::kMAX);
  auto& u = *s.network->addUnary(*s.image, UnaryOperation::kEXP);
  KEPT(u, IUnaryLayer, Operation, UnaryOperation::kABS);
  auto& c = *s.network->addCast(*s.image, DataType::kINT32);
  KEPT(c, ICastLayer, ToType, DataType::kINT64);
  auto& r = *s.network->addReduce(*s.image, ReduceOperation::kSUM, 1, false);
  KEPT(r, IReduceLayer, Operation, ReduceOperation::kMAX);
  KEPT(r, IReduceLayer, ReduceAxes, 6U);
  KEPT(r, IReduceLayer, KeepDimensions, true);
  auto& m = *s.network->addSoftMax(*s.image);
  KEPT(m, ISoftMaxLayer, Axes, 8U);
  auto& t = *s.network->addTopK(*s.image, TopKOperation::kMAX, 1, 8);
  KEPT(t, ITopKLayer, Operation, TopKOperation::kMIN);
  KEPT(t, ITopKLayer, K, 2);
  KEPT(t, ITopKLayer, ReduceAxes, 4U);
  KEPT(t, ITopKLayer, IndicesType, DataType::kINT64);
}

TEST(Settings, OfMovements) {
  Layers s;
  ITensor* tensors[] = {s.image, s.image};
  KEPT(*s.network->addConcatenation(tensors, 2), IConcatenationLayer, Axis, 2);
  auto& h = *s.network->addShuffle(*s.image);
  KEPT(h, IShuffleLayer, ReshapeDimensions, dims({4, 64}));
  KEPT(h, IShuffleLayer, ZeroIsPlaceholder, false);
  h.setFirstTranspose({{0, 2, 3, 1}});
  h.setSecondTranspose({{1, 0}});
  EXPECT_EQ(h.getFirstTranspose().order[3], 1);
  EXPECT_EQ(h.getSecondTranspose().order[0], 1);
  auto& l =
      *s.network->addSlice(*s.image, dims({0, 0, 0, 0}), dims({1, 1, 1, 1}), dims({1, 1, 1, 1}));
  KEPT(l, ISliceLayer, Start, dims({0, 1, 1, 1}));
  KEPT(l, ISliceLayer, Size, dims({1, 2, 2, 2}));
  KEPT(l, ISliceLayer, Stride, dims({1, 1, 2, 2}));
  KEPT(l, ISliceLayer, Mode, SampleMode::kWRAP);
  auto& g = *s.network->addGather(*s.image, *s.constant32({2}, {0, 1}), 1);
  KEPT(g, IGatherLayer, GatherAxis, 2);
  KEPT(g, IGatherLayer, NbElementWiseDims, 0);
  KEPT(g, IGatherLayer, Mode, GatherMode::kELEMENT);
  auto& c = *s.network->addScatter(*s.matrix, *s.constant32({4, 4}, std::vector<int32_t>(16, 0)),
                                   *s.matrix, ScatterMode::kELEMENT);
  KEPT(c, IScatterLayer, Axis, 1);
  KEPT(c, IScatterLayer, Mode, ScatterMode::kND);
  auto& r = *s.network->addResize(*s.image);
  KEPT(r, IResizeLayer, OutputDimensions, dims({1, 4, 16, 16}));
  KEPT(r, IResizeLayer, ResizeMode, InterpolationMode::kLINEAR);
  KEPT(r, IResizeLayer, CoordinateTransformation, ResizeCoordinateTransformation::kALIGN_CORNERS);
  KEPT(r, IResizeLayer, SelectorForSinglePixel, ResizeSelector::kUPPER);
  KEPT(r, IResizeLayer, NearestRounding, ResizeRoundMode::kCEIL);
  KEPT(r, IResizeLayer, CubicCoeff, -0.5F);
  KEPT(r, IResizeLayer, ExcludeOutside, true);
  const float scales[] = {1, 1, 2, 2};
  r.setScales(scales, 4);
  float given[4] = {};
  EXPECT_EQ(r.getScales(4, given), 4);
  EXPECT_EQ(given[3], 2);
}

TEST(Settings, OfGeneratorsAndIndices) {
  Layers s;
  auto& f = *s.network->addFill(dims({4}), FillOperation::kLINSPACE, DataType::kFLOAT);
  KEPT(f, IFillLayer, Dimensions, dims({8}));
  KEPT(f, IFillLayer, Alpha, 2.0);
  KEPT(f, IFillLayer, Beta, 3.0);
  KEPT(f, IFillLayer, Operation, FillOperation::kRANDOM_UNIFORM);
  auto& i = *s.network->addFill(dims({4}), FillOperation::kLINSPACE, DataType::kINT64);
  KEPT(i, IFillLayer, AlphaInt64, int64_t{5});
  KEPT(i, IFillLayer, BetaInt64, int64_t{2});
  KEPT(i, IFillLayer, ToType, DataType::kINT32);
  KEPT(*s.network->addConstant(dims({2}), s.weights({1, 2})), IConstantLayer, Weights,
       s.weights({3, 4}));
  KEPT(*s.network->addNonZero(*s.matrix), INonZeroLayer, IndicesType, DataType::kINT64);
  KEPT(*s.network->addOneHot(*s.constant32({2}, {0, 1}), *s.constant({2}, {0, 1}),
                             *s.constant32({}, {3}), -1),
       IOneHotLayer, Axis, 0);
  auto& v = *s.network->addReverseSequence(*s.matrix, *s.constant32({4}, {1, 2, 3, 4}));
  KEPT(v, IReverseSequenceLayer, BatchAxis, 0);
  KEPT(v, IReverseSequenceLayer, SequenceAxis, 1);
  auto& c = *s.network->addCumulative(*s.matrix, *s.constant32({}, {0}), CumulativeOperation::kSUM,
                                      false, false);
  KEPT(c, ICumulativeLayer, Operation, CumulativeOperation::kSUM);
  KEPT(c, ICumulativeLayer, Exclusive, true);
  KEPT(c, ICumulativeLayer, Reverse, true);
  auto& a = *s.network->addAssertion(*s.input("condition", DataType::kBOOL, {1}), "first");
  KEPT(a, IAssertionLayer, Message, "second");
}

TEST(Settings, OfProductsAndNorms) {
  Layers s;
  auto& m = *s.network->addMatrixMultiply(*s.matrix, MatrixOperation::kNONE, *s.matrix,
                                          MatrixOperation::kNONE);
  m.setOperation(1, MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(m.getOperation(1), MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(m.getOperation(0), MatrixOperation::kNONE);
  ITensor* pair[] = {s.matrix, s.matrix};
  KEPT(*s.network->addEinsum(pair, 2, "ij,jk->ik"), IEinsumLayer, Equation, "ij,kj->ik");
  auto& n = *s.network->addNormalization(*s.image, *s.constant({1, 4, 1, 1}, {1, 1, 1, 1}),
                                         *s.constant({1, 4, 1, 1}, {0, 0, 0, 0}), 12);
  KEPT(n, INormalizationLayer, Epsilon, 0.5F);
  KEPT(n, INormalizationLayer, Axes, 8U);
  KEPT(n, INormalizationLayer, NbGroups, 2);
  KEPT(n, INormalizationLayer, ComputePrecision, DataType::kFLOAT);
  auto& g = *s.network->addGridSample(*s.image, *s.constant({1, 1, 1, 2}, {0, 0}));
  KEPT(g, IGridSampleLayer, InterpolationMode, InterpolationMode::kNEAREST);
  KEPT(g, IGridSampleLayer, AlignCorners, true);
  KEPT(g, IGridSampleLayer, SampleMode, SampleMode::kCLAMP);
}

TEST(Settings, OfQuantization) {
  Layers s;
  ITensor* scale = s.constant({}, {0.5F});
  auto& q = *s.network->addQuantize(*s.matrix, *scale, DataType::kINT8);
  KEPT(q, IQuantizeLayer, Axis, 1);
  KEPT(q, IQuantizeLayer, ToType, DataType::kFP8);
  auto& d = *s.network->addDequantize(*q.getOutput(0), *scale, DataType::kFLOAT);
  KEPT(d, IDequantizeLayer, Axis, 1);
  KEPT(d, IDequantizeLayer, ToType, DataType::kHALF);
  auto& y = *s.network->addDynamicQuantize(*s.matrix, 1, 16, DataType::kFP4, DataType::kFP8);
  KEPT(y, IDynamicQuantizeLayer, Axis, 0);
  KEPT(y, IDynamicQuantizeLayer, BlockSize, 32);
  KEPT(y, IDynamicQuantizeLayer, ToType, DataType::kFP8);
  KEPT(y, IDynamicQuantizeLayer, ScaleType, DataType::kE8M0);
}

TEST(Settings, OfTensors) {
  Layers s;
  ITensor& t = *s.image;
  KEPT(t, ITensor, Name, "picture");
  KEPT(t, ITensor, Dimensions, dims({1, 4, 16, 16}));
  KEPT(t, ITensor, Type, DataType::kHALF);
  KEPT(t, ITensor, AllowedFormats, 1U << static_cast<uint32_t>(TensorFormat::kLINEAR));
  EXPECT_TRUE(t.setDynamicRange(-2, 3));
  EXPECT_TRUE(t.dynamicRangeIsSet());
  EXPECT_EQ(t.getDynamicRangeMin(), -2);
  EXPECT_EQ(t.getDynamicRangeMax(), 3);
  t.resetDynamicRange();
  EXPECT_FALSE(t.dynamicRangeIsSet());
  EXPECT_TRUE(t.isExecutionTensor());
  EXPECT_FALSE(t.isShapeTensor());
}

TEST(Settings, OfLayers) {
  Layers s;
  ILayer& layer = *s.network->addActivation(*s.image, ActivationType::kRELU);
  KEPT(layer, ILayer, Name, "activation");
  KEPT(layer, ILayer, Metadata, "from line 3");
  KEPT(layer, ILayer, Precision, DataType::kHALF);
  EXPECT_TRUE(layer.precisionIsSet());
  layer.resetPrecision();
  EXPECT_FALSE(layer.precisionIsSet());
  layer.setOutputType(0, DataType::kHALF);
  EXPECT_TRUE(layer.outputTypeIsSet(0));
  EXPECT_EQ(layer.getOutputType(0), DataType::kHALF);
  layer.resetOutputType(0);
  EXPECT_FALSE(layer.outputTypeIsSet(0));
}

TEST(Settings, OfBuilderConfigurations) {
  Session s;
  IBuilderConfig& c = *s.config;
  KEPT(c, IBuilderConfig, AvgTimingIterations, 3);
  KEPT(c, IBuilderConfig, EngineCapability, EngineCapability::kSAFETY);
  KEPT(c, IBuilderConfig, Flags, 5U);
  KEPT(c, IBuilderConfig, DLACore, 1);
  KEPT(c, IBuilderConfig, DefaultDeviceType, DeviceType::kDLA);
  KEPT(c, IBuilderConfig, ProfilingVerbosity, ProfilingVerbosity::kNONE);
  KEPT(c, IBuilderConfig, QuantizationFlags, 1U);
  KEPT(c, IBuilderConfig, TacticSources, 3U);
  KEPT(c, IBuilderConfig, BuilderOptimizationLevel, 4);
  KEPT(c, IBuilderConfig, HardwareCompatibilityLevel, HardwareCompatibilityLevel::kAMPERE_PLUS);
  KEPT(c, IBuilderConfig, MaxAuxStreams, 2);
  KEPT(c, IBuilderConfig, RuntimePlatform, RuntimePlatform::kWINDOWS_AMD64);
  KEPT(c, IBuilderConfig, MaxNbTactics, 7);
  KEPT(c, IBuilderConfig, TilingOptimizationLevel, TilingOptimizationLevel::kFAST);
  KEPT(c, IBuilderConfig, L2LimitForTiling, int64_t{1000});
  KEPT(c, IBuilderConfig, RemoteAutoTuningConfig, "local");
  c.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 12345);
  EXPECT_EQ(c.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 12345U);
  EXPECT_EQ(c.getMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY), 1U << 30);
  EXPECT_TRUE(c.getPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806)) << "TensorRT's default";
  c.setPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806, false);
  EXPECT_FALSE(c.getPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806));
  const std::string library = testing::TempDir() + "plugins_to_serialize.so";
  std::ofstream(library) << "any";
  const char* plugins[] = {library.c_str(), library.c_str()};
  c.setPluginsToSerialize(plugins, 2);
  EXPECT_EQ(c.getNbPluginsToSerialize(), 2);
  EXPECT_EQ(c.getPluginToSerialize(1), library);
  EXPECT_EQ(c.getPluginToSerialize(2), nullptr);
  c.setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_TRUE(c.getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  c.clearQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_FALSE(c.getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  c.reset();
  EXPECT_EQ(c.getMaxNbTactics(), -1);
  EXPECT_EQ(c.getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_EQ(c.getNbPluginsToSerialize(), 0);
}

TEST(Settings, LimitsOfPoolsThatNothingTakesFromAreNamed) {
  Session session;
  session.output(
      session.network->addIdentity(*session.input("x", DataType::kFLOAT, {2}))->getOutput(0), "y");
  session.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY, 1 << 16);
  ASSERT_TRUE(session.build());
  ASSERT_EQ(session.log.warnings.size(), 1u);
  EXPECT_NE(session.log.warnings[0].find("kTACTIC_SHARED_MEMORY"), std::string::npos);
}

TEST(Settings, OfRuntimesAndContexts) {
  Layers s;
  s.output(s.network->addIdentity(*s.matrix)->getOutput(0), "y");
  s.network->removeTensor(*s.image);
  ASSERT_TRUE(s.build());
  KEPT(*s.runtime, IRuntime, MaxThreads, 3);
  KEPT(*s.runtime, IRuntime, TemporaryDirectory, "/tmp");
  KEPT(*s.runtime, IRuntime, TempfileControlFlags, 2U);
  KEPT(*s.runtime, IRuntime, EngineHostCodeAllowed, true);
  EXPECT_FALSE(s.runtime->setMaxThreads(0));
  EXPECT_EQ(s.runtime->loadRuntime("none.so"), nullptr);
  EXPECT_TRUE(s.log.complained("loadRuntime"));
  IExecutionContext& c = *s.context;
  KEPT(c, IExecutionContext, DebugSync, true);
  KEPT(c, IExecutionContext, Name, "worker");
  KEPT(c, IExecutionContext, EnqueueEmitsProfile, false);
  KEPT(c, IExecutionContext, PersistentCacheLimit, size_t{5});
  KEPT(c, IExecutionContext, NvtxVerbosity, ProfilingVerbosity::kDETAILED);
  // It begins with the build's verbosity.
  Layers quiet;
  quiet.output(quiet.network->addIdentity(*quiet.matrix)->getOutput(0), "y");
  quiet.network->removeTensor(*quiet.image);
  quiet.config->setProfilingVerbosity(ProfilingVerbosity::kNONE);
  ASSERT_TRUE(quiet.build());
  EXPECT_EQ(quiet.context->getNvtxVerbosity(), ProfilingVerbosity::kNONE);
  EXPECT_FALSE(c.setCommunicator(nullptr));
  EXPECT_TRUE(s.log.complained("no communicator"));
  s.log.warnings.clear();
  EXPECT_TRUE(c.setCommunicator(&s));
  ASSERT_EQ(s.log.warnings.size(), 1u);
  EXPECT_NE(s.log.warnings[0].find("no layer of the plan communicates"), std::string::npos);
  std::unique_ptr<IRuntimeConfig> config(s.engine->createRuntimeConfig());
  KEPT(*config, IRuntimeConfig, ExecutionContextAllocationStrategy,
       ExecutionContextAllocationStrategy::kUSER_MANAGED);
  std::unique_ptr<IExecutionContext> managed(s.engine->createExecutionContext(config.get()));
  const std::unique_ptr<IRuntimeConfig> given(managed->getRuntimeConfig());
  EXPECT_EQ(given->getExecutionContextAllocationStrategy(),
            ExecutionContextAllocationStrategy::kUSER_MANAGED);
}

}  // namespace
}  // namespace api_test
