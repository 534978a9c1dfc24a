// Plugins that know the extents of their results only when they have run: declareSizeTensor.
#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// y: the positive elements of x[n]; their number is the second output.
class Positive final : public plugin_test::Copier<Positive> {
 public:
  static constexpr auto kName = "Positive";
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType*,
                             int32_t) const noexcept override {
    outputs[0] = DataType::kFLOAT;
    outputs[1] = DataType::kINT64;
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    const IDimensionExpr* half =
        builder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[0], *builder.constant(2));
    const IDimensionExpr* size = builder.declareSizeTensor(1, *half, *inputs[0].d[0]);
    if (size == nullptr || !size->isSizeTensor() || half->isSizeTensor()) return 1;
    outputs[0] = {1, {size}};
    outputs[1].nbDims = 0;
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[at].desc.type == (at == 2 ? DataType::kINT64 : DataType::kFLOAT);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* from,
                  void* const* to, void*, cudaStream_t) noexcept override {
    if (out[0].dims.nbDims != 1 || out[0].dims.d[0] != -1 || out[1].dims.nbDims != 0) return 1;
    const auto* x = static_cast<const float*>(from[0]);
    auto* y = static_cast<float*>(to[0]);
    int64_t& count = *static_cast<int64_t*>(to[1]);
    count = 0;
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
      if (x[i] > 0) y[count++] = x[i];
    return 0;
  }
};

TEST(PluginSizes, AreReadWhenThePluginHasRun) {
  plugin_test::Registered<plugin_test::StatelessCreator<Positive>> creator{""};
  Positive plugin;
  Session session;
  ITensor* x[] = {session.input("x", DataType::kFLOAT, {5})};
  IPluginV3Layer* layer = session.network->addPluginV3(x, 1, nullptr, 0, plugin);
  ITensor* positive = layer->getOutput(0);
  EXPECT_EQ(positive->getDimensions().d[0], -1);
  session.output(session.network->addUnary(*positive, UnaryOperation::kNEG)->getOutput(0), "y");
  session.output(layer->getOutput(1), "n");
  for (const F& values : {F{1, -2, 3, -4, 5}, F{-1, -2, -3, -4, -5}, F{1, 2, 3, 4, 5}}) {
    F expected;
    for (const float value : values)
      if (value > 0) expected.push_back(-value);
    auto results = session.run({{"x", floats({5}, values)}});
    EXPECT_EQ(results["y"].values<float>(), expected) << session.log.text();
    EXPECT_EQ(results["n"].values<int64_t>(),
              std::vector<int64_t>{static_cast<int64_t>(expected.size())});
  }
}

}  // namespace
}  // namespace api_test
