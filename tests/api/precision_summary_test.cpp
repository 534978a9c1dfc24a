// No flag for a type is ignored in silence: a build tells how many layers with products got it, and
// why the others did not.
#include "harness.h"
#include "tenon/passes.h"
#include "tenon/precision.h"
#include "tenon/quantize.h"

namespace api_test {
namespace {

/// Keeps all that is logged.
class Lines final : public ILogger {
 public:
  void log(Severity, const char* message) noexcept override {
    all += message;
    all += '\n';
  }
  bool has(const std::string& words) const { return count(words) > 0; }
  int count(const std::string& words) const {
    int found = 0;
    for (size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++found;
    return found;
  }
  std::string all;
};

/// y = x w, with the lines that the build of it logs.
class Summary {
 public:
  explicit Summary(std::initializer_list<BuilderFlag> flags, uint32_t typing = 0)
      : network(builder->createNetworkV2(typing)) {
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    config->setBuilderOptimizationLevel(1);
    EXPECT_TRUE(tenon::setBuildDevice(*config, tenon::kCpuDevice));
    x = network->addInput("x", DataType::kFLOAT, dims({2, 32}));
  }
  ITensor* constant(const void* values, DataType type, std::initializer_list<int64_t> extents,
                    int64_t count) {
    return network->addConstant(dims(extents), {type, values, count})->getOutput(0);
  }
  /// The weights as floats.
  ITensor* floats() { return constant(weights.data(), DataType::kFLOAT, {32, 16}, 32 * 16); }
  /// Any weights, quantized.
  ITensor* dequantized(DataType type) {
    auto* layer =
        network->addDequantize(*constant(bytes.data(), type, {32, 16}, 32 * 16),
                               *constant(&scale, DataType::kFLOAT, {}, 1), DataType::kFLOAT);
    return layer->getOutput(0);
  }
  ITensor* rounded(DataType type) {
    auto* scales = constant(&scale, DataType::kFLOAT, {}, 1);
    auto* quantize = network->addQuantize(*x, *scales, type);
    return network->addDequantize(*quantize->getOutput(0), *scales, DataType::kFLOAT)->getOutput(0);
  }
  IMatrixMultiplyLayer& product(ITensor* rows, ITensor* columns) {
    auto* product =
        network->addMatrixMultiply(*rows, MatrixOperation::kNONE, *columns, MatrixOperation::kNONE);
    product->setName("product");
    return *product;
  }
  const Lines& build(ITensor* rows, ITensor* columns) {
    return build_up_to(product(rows, columns));
  }
  const Lines& build_up_to(ILayer& last) {
    network->markOutput(*last.getOutput(0));
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr);
    return lines;
  }

  Lines lines;
  std::unique_ptr<IBuilder> builder{createInferBuilder(lines)};
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
  std::vector<float> weights = std::vector<float>(32 * 16, 0.5F);
  std::vector<uint8_t> bytes = std::vector<uint8_t>(32 * 16, 0x21);
  float scale = 0.05F;
  ITensor* x = nullptr;
};

TEST(PrecisionSummaryOfABuild, LayersBoundToFloatsMultiplyNoBytes) {
  for (const DataType type : {DataType::kFLOAT, DataType::kBF16}) {
    Summary bound(
        {BuilderFlag::kINT8, BuilderFlag::kBF16, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS});
    ILayer& product =
        bound.product(bound.rounded(DataType::kINT8), bound.dequantized(DataType::kINT8));
    product.setPrecision(type);
    bound.build_up_to(product);
    EXPECT_TRUE(
        bound.lines.has("INT8: 1 does not, since its layer precision (setPrecision) keeps "
                        "it in floating point: 'product'"))
        << bound.lines.all;
  }
}

TEST(PrecisionSummaryOfABuild, LayersBoundToBytesAreNotLeftOutForTime) {
  for (const bool is_bound : {false, true}) {
    Summary ranges({BuilderFlag::kINT8, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS});
    ranges.config->setBuilderOptimizationLevel(3);
    ILayer& product = ranges.product(ranges.x, ranges.floats());
    ranges.x->setDynamicRange(-1, 1);
    product.getOutput(0)->setDynamicRange(-4, 4);
    if (is_bound) product.setPrecision(DataType::kINT8);
    ranges.build_up_to(product);
    EXPECT_EQ(ranges.lines.has("INT8: the network takes"), !is_bound) << ranges.lines.all;
    if (!is_bound) continue;
    EXPECT_TRUE(ranges.lines.has("INT8: 1 of 1 layers with products compute in 8-bit integers"))
        << ranges.lines.all;
  }
}

TEST(PrecisionSummaryOfABuild, OfTypesThatNoLayerComputesIn) {
  for (const DataType type : {DataType::kBOOL, DataType::kINT32}) {
    Summary bound({BuilderFlag::kOBEY_PRECISION_CONSTRAINTS});
    ILayer& product = bound.product(bound.x, bound.floats());
    product.setPrecision(type);
    bound.build_up_to(product);
    EXPECT_EQ(
        bound.lines.count("has no effect on 1 of the layers, which compute in floating point: "
                          "'product'"),
        1)
        << bound.lines.all;
  }
}

TEST(PrecisionSummaryOfABuild, OfInt8) {
  Summary plain({BuilderFlag::kINT8});
  EXPECT_TRUE(plain.build(plain.x, plain.floats()).has("INT8 is allowed, but no layer uses it"))
      << plain.lines.all;
  EXPECT_TRUE(plain.lines.has("INT8: 1 does not, since there are no ranges; give a calibrator"))
      << plain.lines.all;
  EXPECT_FALSE(plain.lines.has("has no effect")) << "the same in other words";
  Summary quantized({BuilderFlag::kINT8});
  quantized.build(quantized.rounded(DataType::kINT8), quantized.dequantized(DataType::kINT8));
  EXPECT_TRUE(quantized.lines.has("INT8: 1 of 1 layers with products compute in 8-bit integers"))
      << quantized.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfFp8) {
  Summary quantized({BuilderFlag::kFP8});
  quantized.build(quantized.rounded(DataType::kFP8), quantized.dequantized(DataType::kFP8));
  EXPECT_TRUE(quantized.lines.has("FP8 is allowed, but no layer uses it")) << quantized.lines.all;
  EXPECT_TRUE(quantized.lines.has("FP8: 1 does not, since the device has no such kernel"))
      << quantized.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfBlocks) {
  Summary blocked({BuilderFlag::kINT8});
  const std::vector<float> scales(32 / 16 * 16, 0.01F);
  auto* weights = blocked.network->addDequantize(
      *blocked.constant(blocked.bytes.data(), DataType::kINT8, {32, 16}, 32 * 16),
      *blocked.constant(scales.data(), DataType::kFLOAT, {2, 16}, 32), DataType::kFLOAT);
  EXPECT_TRUE(weights->setBlockShape(Dims2{16, 1}));
  blocked.build(blocked.rounded(DataType::kINT8), weights->getOutput(0));
  EXPECT_TRUE(blocked.lines.has("INT8: 1 does not, since scales of blocks change along the sums"))
      << blocked.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfInt4) {
  Summary few({BuilderFlag::kINT4});
  few.build(few.x, few.dequantized(DataType::kINT4));
  EXPECT_TRUE(few.lines.has("INT4: 1 of 1 layers with products read weights of 4 bits"))
      << few.lines.all;
  Summary many({BuilderFlag::kINT4});
  many.x = many.network->addInput("rows", DataType::kFLOAT, dims({64, 32}));
  many.build(many.x, many.dequantized(DataType::kINT4));
  EXPECT_TRUE(many.lines.has("INT4: 1 of 1 layers with products read weights of 4 bits"))
      << many.lines.all;
  Summary across({BuilderFlag::kINT4});
  across.x = across.network->addInput("columns", DataType::kFLOAT, dims({32, 64}));
  IMatrixMultiplyLayer& product = across.product(across.x, across.dequantized(DataType::kINT4));
  product.setOperation(0, MatrixOperation::kTRANSPOSE);
  across.build_up_to(product);
  EXPECT_TRUE(across.lines.has("INT4: 1 does not, since no kernel of the device reads them there"))
      << across.lines.all;
}

/// A switch of the builder is the reason, not the device.
TEST(PrecisionSummaryOfABuild, OfSwitches) {
  const auto lines_with = [](const auto& change) {
    Summary built({BuilderFlag::kINT8});
    change(*built.config);
    return built.build(built.rounded(DataType::kINT8), built.dequantized(DataType::kINT8)).all;
  };
  const std::string low =
      lines_with([](IBuilderConfig& config) { config.setBuilderOptimizationLevel(0); });
  EXPECT_NE(low.find("INT8: 1 does not, since builder optimization level 0"), std::string::npos)
      << low;
  const std::string off = lines_with([](IBuilderConfig& config) {
    Lines unread;
    tenon::disablePasses(config, "fuse_quantized", unread);
  });
  EXPECT_NE(off.find("INT8: 1 does not, since the pass fuse_quantized is switched off"),
            std::string::npos)
      << off;
  const std::string unfused =
      lines_with([](IBuilderConfig& config) { tenon::keepUnfused(config, "prod*"); });
  EXPECT_NE(unfused.find("INT8: 1 does not, since it is to stay unfused"), std::string::npos)
      << unfused;
}

TEST(PrecisionSummaryOfABuild, OfSeveralFlags) {
  Summary all({BuilderFlag::kINT8, BuilderFlag::kFP8, BuilderFlag::kINT4, BuilderFlag::kFP16});
  all.build(all.rounded(DataType::kINT8), all.dequantized(DataType::kINT8));
  EXPECT_TRUE(all.lines.has("INT8: 1 of 1")) << all.lines.all;
  EXPECT_TRUE(all.lines.has("FP8 is allowed, but no layer uses it")) << all.lines.all;
  EXPECT_TRUE(all.lines.has("INT4 is allowed, but no layer uses it")) << all.lines.all;
  EXPECT_TRUE(all.lines.has("FP16: 1 does not, since 8-bit numbers go first")) << all.lines.all;
}

/// A network has its own types, allowed or not.
TEST(PrecisionSummaryOfABuild, OfStronglyTypedNetworks) {
  const uint32_t strong =
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  Summary integers({}, strong);
  integers.build(integers.rounded(DataType::kINT8), integers.dequantized(DataType::kINT8));
  EXPECT_TRUE(integers.lines.has("INT8: 1 of 1 layers with products compute in 8-bit integers"))
      << integers.lines.all;
  Summary floats({}, strong);
  floats.build(floats.rounded(DataType::kFP8), floats.dequantized(DataType::kFP8));
  EXPECT_TRUE(floats.lines.has("FP8: 0 of 1 layers")) << floats.lines.all;
  EXPECT_TRUE(floats.lines.has("FP8: 1 does not, since the device has no such kernel"))
      << floats.lines.all;
  EXPECT_FALSE(floats.lines.has("INT8")) << floats.lines.all;
  Summary plain({}, strong);
  plain.build(plain.x, plain.floats());
  for (const char* type : {"INT8", "FP8", "INT4", "FP16", "BF16", "is allowed"})
    EXPECT_FALSE(plain.lines.has(type)) << plain.lines.all;
}

/// Ranges that are made up on demand neither come nor are missed where nothing takes them.
TEST(PrecisionSummaryOfABuild, OfLayersThatRangesDoNotQuantize) {
  Summary up({BuilderFlag::kINT8});
  EXPECT_TRUE(tenon::setRandomCalibration(*up.config, true));
  up.x = up.network->addInput("image", DataType::kFLOAT, Dims4{1, 32, 4, 4});
  auto* layer = up.network->addDeconvolutionNd(*up.x, 4, Dims2{2, 2},
                                               {DataType::kFLOAT, up.weights.data(), 32 * 16},
                                               {DataType::kFLOAT, nullptr, 0});
  layer->setName("up");
  up.build_up_to(*layer);
  EXPECT_EQ(up.lines.count("INT8 is allowed, but no layer uses it"), 1) << up.lines.all;
  EXPECT_TRUE(
      up.lines.has("INT8: 1 does not, since ranges quantize convolutions and matrix "
                   "products with constant weights alone: 'up'"))
      << up.lines.all;
  for (const char* words : {"no calibrator", "no convolution", "made-up", "has no effect"})
    EXPECT_FALSE(up.lines.has(words)) << up.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfMadeUpRanges) {
  Summary made({BuilderFlag::kINT8});
  EXPECT_TRUE(tenon::setRandomCalibration(*made.config, true));
  made.build(made.x, made.floats());
  EXPECT_EQ(made.lines.count("made-up ranges come from a run with random inputs"), 1)
      << made.lines.all;
  EXPECT_TRUE(made.lines.has("INT8: 1 of 1 layers")) << made.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfSparseWeights) {
  Summary dense({BuilderFlag::kSPARSE_WEIGHTS});
  dense.build(dense.x, dense.floats());
  EXPECT_TRUE(dense.lines.has("Sparsity: 0 of 1 layers")) << dense.lines.all;
  EXPECT_TRUE(dense.lines.has("1 does not, since the weights are not constant or more than two"))
      << dense.lines.all;
  Summary sparse({BuilderFlag::kSPARSE_WEIGHTS});
  for (size_t i = 0; i < sparse.weights.size(); ++i)
    if (i / 16 % 4 < 2) sparse.weights[i] = 0;
  sparse.build(sparse.x, sparse.floats());
  EXPECT_TRUE(
      sparse.lines.has("Sparsity: 1 of 1 layers with products have weights with two of four "
                       "zero, 0 use sparse kernels"))
      << sparse.lines.all;
  EXPECT_TRUE(
      sparse.lines.has("Sparsity: 1 does not, since the device has no sparse kernels for it, "
                       "or dense ones are faster there: 'product'"))
      << sparse.lines.all;
  EXPECT_TRUE(sparse.lines.has("the pattern is in 'product'")) << sparse.lines.all;
}

TEST(PrecisionSummaryOfABuild, Of16Bits) {
  Summary half({BuilderFlag::kBF16});
  half.build(half.x, half.floats());
  EXPECT_TRUE(half.lines.has("BF16: ") || half.lines.has("no 16-bit arithmetic")) << half.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfLayerPrecisions) {
  Summary kept({BuilderFlag::kBF16, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS});
  auto* product = kept.network->addMatrixMultiply(*kept.x, MatrixOperation::kNONE, *kept.floats(),
                                                  MatrixOperation::kNONE);
  product->setName("product");
  product->setPrecision(DataType::kFLOAT);
  EXPECT_TRUE(
      kept.build_up_to(*product).has("1 does not, since its layer precision (setPrecision, "
                                     "setOutputType) keeps it in FP32: 'product'"))
      << kept.lines.all;
  Summary budget({BuilderFlag::kBF16});
  EXPECT_TRUE(tenon::setPrecisionBudget(*budget.config, 0));
  for (size_t i = 0; i < budget.weights.size(); ++i)
    budget.weights[i] = 0.001F * static_cast<float>(i % 97);
  EXPECT_TRUE(budget.build(budget.x, budget.floats()).has("keeps it in FP32: 'product'"))
      << budget.lines.all;
}

TEST(PrecisionSummaryOfABuild, OfANetworkWithoutProducts) {
  Summary none({BuilderFlag::kINT8, BuilderFlag::kSPARSE_WEIGHTS});
  none.network->markOutput(
      *none.network->addActivation(*none.x, ActivationType::kRELU)->getOutput(0));
  const std::unique_ptr<IHostMemory> plan(
      none.builder->buildSerializedNetwork(*none.network, *none.config));
  EXPECT_TRUE(none.lines.has("INT8 is allowed, but no layer uses it: the network has no"))
      << none.lines.all;
  EXPECT_TRUE(none.lines.has("Sparse weights are allowed, but no layer uses them"))
      << none.lines.all;
}

/// Layers without products may have 16-bit numbers all the same.
TEST(PrecisionSummaryOfABuild, OfHalvesWithoutProducts) {
  Summary half({BuilderFlag::kFP16});
  const std::vector<int32_t> places = {1, 0, 1, 1};
  auto* rows =
      half.network->addGather(*half.x, *half.constant(places.data(), DataType::kINT32, {4}, 4), 0);
  half.build_up_to(*half.network->addReduce(*rows->getOutput(0), ReduceOperation::kSUM, 2, false));
  if (half.lines.has("no 16-bit arithmetic")) return;
  EXPECT_FALSE(half.lines.has("no layer uses it")) << half.lines.all;
  EXPECT_TRUE(half.lines.has("FP16: ")) << half.lines.all;
}

}  // namespace
}  // namespace api_test
