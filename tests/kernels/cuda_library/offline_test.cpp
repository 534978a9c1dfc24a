// Checks without a GPU: plans of cuDNN made for a described device, texts of engine choices, the
// arithmetic of folding.
#include <gtest/gtest.h>

#include "kernels/cublaslt/product.h"
#include "kernels/cublaslt/tail.h"
#include "kernels/cuda_library/region_case.h"
#include "kernels/cudnn/convolution.h"
#include "kernels/cudnn/plan.h"
#include "ops/table.h"

namespace tenon {
namespace {

using namespace cudnn;

/// An H200, as cuDNN describes it.
constexpr char kH200[] =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
    R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"totalGlobalMem":150109880320,"smClockRateKHz":1980000,)"
    R"("memClockRateKHz":3201000,"l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,)"
    R"("driverVer":13000,"deviceName":"NVIDIA H200"})";

std::unique_ptr<Conv> convolution(int64_t stride, int64_t pad) {
  auto op = std::make_unique<Conv>();
  op->strides = {stride, stride};
  op->dilations = {1, 1};
  op->pads_begin = op->pads_end = {pad, pad};
  return op;
}

TEST(EngineChoices, SurviveTheirTexts) {
  const EngineChoice choice{41, {{2, 5}, {13, 1}, {27, 4}}};
  EXPECT_EQ(to_text(choice), "engine=41,k2=5,k13=1,k27=4");
  const auto parsed = engine_from_text(to_text(choice));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, choice);
  for (const char* text : {"", "k2=5", "engine=x", "engine=4,k=", "engine=4,knob", "tile=4"})
    EXPECT_FALSE(engine_from_text(text).ok()) << text;
}

TEST(OfflinePlans, AreMadeForADescribedDevice) {
  const auto api = cuda::load_cudnn();
  if (!api.ok()) GTEST_SKIP() << api.error().message;
  if ((*api)->cudnnGetVersion() < 91100) GTEST_SKIP() << "cuDNN describes devices from 9.11 on";
  const std::string json = kH200;
  Descriptor device(**api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set_raw(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<int64_t>(json.size()) + 1, json.c_str());
  const Status described = device.finalize();
  ASSERT_TRUE(described.ok()) << described.error().message;

  RegionCase test(DataType::kFloat16);
  Value* y = test.add(convolution(1, 1), {test.input("x", {1, 64, 14, 14}, 0),
                                          test.constant({64, 64, 3, 3}, 0), test.constant({64})});
  test.step(PointwiseFunction::k_relu, y);
  test.finish(Layout::kChannelsLast);
  const auto described_convolution = describe_convolution(test.problem());
  ASSERT_TRUE(described_convolution.ok());
  const auto graph = build_graph(**api, nullptr, *described_convolution);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Context context{*api, nullptr, &device, {}};
  const auto choices = propose_engines(context, graph->graph, false, {}, 4);
  ASSERT_TRUE(choices.ok()) << choices.error().message;
  const auto plan = Plan::build(context, graph->graph, choices->front());
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(Plan::build(context, graph->graph, {9999, {}}).ok());
}

/// The packed input as pack.cu makes it, in logical order.
Tensor pack(const Tensor& x, const cudnn::Convolution& whole, const Extents& extents,
            const Packing& packing) {
  Tensor result(DataType::kFloat32, extents);
  const Extents& e = x.extents();
  int64_t at = 0;
  for (int64_t n = 0; n < extents[0]; ++n)
    for (int64_t channel = 0; channel < extents[1]; ++channel)
      for (int64_t row = 0; row < extents[2]; ++row)
        for (int64_t column = 0; column < extents[3]; ++column) {
          const int64_t neighbour = channel / e[1], fold = packing.fold;
          const int64_t i = row * fold + neighbour / fold - whole.window.pads_begin[0];
          const int64_t j = column * fold + neighbour % fold - whole.window.pads_begin[1];
          const bool inside = neighbour < fold * fold && i >= 0 && i < e[2] && j >= 0 && j < e[3];
          const int64_t from = ((n * e[1] + channel % e[1]) * e[2] + i) * e[3] + j;
          result.set_from_double(at++, inside ? x.as_double(from) : 0);
        }
  return result;
}

TEST(Packing, KeepsTheConvolution) {
  for (const auto& [size, stride, pad] :
       {std::array<int64_t, 3>{7, 2, 3}, {3, 2, 1}, {3, 1, 1}, {4, 4, 0}, {5, 3, 2}}) {
    SCOPED_TRACE(size);
    RegionCase test(DataType::kFloat32);
    Value* x = test.input("x", {2, 3, 19, 22});
    Value* w = test.constant({8, 3, size, size});
    test.add(convolution(stride, pad), {x, w});
    test.finish(Layout::kChannelsLast, {x});
    const auto whole = describe_convolution(test.problem());
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const auto packings = packings_of(*whole);
    ASSERT_FALSE(packings.empty());
    const Tensor input = test.contents(x), expected = test.reference();
    for (const Packing& packing : packings) {
      const cudnn::Convolution c = packed(*whole, packing);
      // packed_weights() gives [K, taps, channels]; the reference wants channels before taps.
      const Tensor stored = packed_weights(*whole, packing, *w->constant());
      Tensor weights(DataType::kFloat32, c.weights);
      const int64_t taps = c.weights[2] * c.weights[3], channels = c.weights[1];
      for (int64_t i = 0; i < weights.count(); ++i) {
        const int64_t k = i / (channels * taps), channel = i / taps % channels, tap = i % taps;
        weights.set_from_double(i, stored.as_double((k * taps + tap) * channels + channel));
      }
      RegionCase folded(DataType::kFloat32);
      auto op = convolution(1, 0);
      op->strides = c.window.strides;
      folded.add(std::move(op), {folded.input("x", pack(input, *whole, c.x.extents, packing)),
                                 folded.constant(weights)});
      folded.finish(Layout::kRowMajor);
      const Tensor result = folded.reference();
      ASSERT_EQ(result.extents(), expected.extents());
      for (int64_t i = 0; i < result.count(); ++i)
        ASSERT_NEAR(result.as_double(i), expected.as_double(i), 1e-4) << packing.fold;
    }
  }
}

/// A number for each channel of each image is read at misaligned addresses by some engines.
TEST(Convolutions, TakeNoNumbersOfEachImagesChannels) {
  const auto described = [](int64_t images) {
    RegionCase test(DataType::kFloat16);
    Value* x = test.input("x", {2, 16, 5, 5});
    Value* w = test.constant({24, 16, 3, 3});
    Value* shift = test.input("shift", {images, 24, 1, 1});
    test.step(PointwiseFunction::k_add, test.add(convolution(1, 1), {x, w}), shift);
    test.finish(Layout::kChannelsLast);
    return describe_convolution(test.problem()).ok();
  };
  EXPECT_TRUE(described(1));
  EXPECT_FALSE(described(2));
}

/// (gate * gelu_erf(a w + bias) subtracted from a row) of which the library takes the first sum.
TEST(TailOfAProduct, AndItsBeginningMakeTheWhole) {
  using F = PointwiseFunction;
  RegionCase whole(DataType::kFloat32);
  Value* a = whole.input("a", {2, 5, 8});
  Value* w = whole.constant({8, 16});
  Value* bias = whole.constant({16});
  Value* sum = whole.step(F::k_add, whole.add(std::make_unique<MatMul>(), {a, w}), bias);
  Value* gated =
      whole.step(F::k_mul, whole.input("gate", {2, 5, 16}), whole.step(F::k_gelu_erf, sum));
  whole.step(F::k_sub, whole.constant({16}), gated);
  whole.finish(Layout::kRowMajor);
  const auto product = cublaslt::describe_product(whole.problem());
  ASSERT_TRUE(product.ok()) << product.error().message;
  EXPECT_EQ(product->taken_steps, 1u);
  EXPECT_GE(product->bias_input, 0);
  const auto region = anchored_region(whole.problem());
  ASSERT_TRUE(region.ok());
  const auto tail = cublaslt::tail_problem(whole.problem(), *region, product->taken_steps);
  ASSERT_TRUE(tail.ok()) << tail.error().message;

  RegionCase beginning(DataType::kFloat32);
  Value* y = beginning.add(std::make_unique<MatMul>(), {beginning.input("a", whole.contents(a)),
                                                        beginning.constant(whole.contents(w))});
  beginning.step(F::k_add, y, beginning.constant(whole.contents(bias)));
  beginning.finish(Layout::kRowMajor);
  const Tensor taken = beginning.reference(), expected = whole.reference();
  std::vector<const Tensor*> operands;
  for (const int input : (*tail)->inputs)
    operands.push_back(input < 0 ? &taken : &whole.contents(whole.node().input(input)));
  ASSERT_EQ(operands.size(), (*tail)->problem.operation.input_count());
  const auto result = evaluate_node((*tail)->problem.operation.node(), operands);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (int64_t i = 0; i < expected.count(); ++i)
    ASSERT_NEAR((*result)[0].as_double(i), expected.as_double(i), 1e-5);
}

}  // namespace
}  // namespace tenon
