// Plugins that are told of extents without the batch: IPluginV2Ext and IPluginV2IOExt.
#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

/// y[b, 2 n] = x[b, n] twice, times its factor.
template <class Base> class Doubled : public Base {
 public:
  explicit Doubled(float factor) : factor_(factor) {}
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  void setPluginNamespace(const char*) noexcept override {}
  int32_t getNbOutputs() const noexcept override { return 1; }
  Dims getOutputDimensions(int32_t, const Dims* inputs, int32_t) noexcept override {
    return inputs[0].nbDims == 1 ? Dims{1, {2 * inputs[0].d[0]}} : Dims{-1, {}};
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getWorkspaceSize(int32_t batch) const noexcept override {
    return static_cast<size_t>(batch) * 4;
  }
  size_t getSerializationSize() const noexcept override { return sizeof factor_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &factor_, sizeof factor_);
  }
  void destroy() noexcept override { delete this; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t) noexcept override {
    if (width_ <= 0 || workspace == nullptr) return 1;
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < 2 * width_; ++i)
        y[b * 2 * width_ + i] = factor_ * x[b * width_ + i % width_];
    return 0;
  }

 protected:
  float factor_;
  int64_t width_ = 0;
};

class TypedDoubled final : public Doubled<IPluginV2IOExt> {
 public:
  using Doubled::Doubled;
  const char* getPluginType() const noexcept override { return "TypedDoubled"; }
  IPluginV2IOExt* clone() const noexcept override { return new TypedDoubled(*this); }
  void configurePlugin(const PluginTensorDesc* in, int32_t, const PluginTensorDesc* out,
                       int32_t) noexcept override {
    width_ = out[0].dims.d[0] == 2 * in[0].dims.d[0] ? in[0].dims.d[0] : -1;
  }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t,
                                 int32_t) const noexcept override {
    return all[at].type == DataType::kFLOAT && all[at].format == TensorFormat::kLINEAR;
  }
};

class PlainDoubled final : public Doubled<IPluginV2Ext> {
 public:
  using Doubled::Doubled;
  const char* getPluginType() const noexcept override { return "PlainDoubled"; }
  IPluginV2Ext* clone() const noexcept override { return new PlainDoubled(*this); }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kLINEAR;
  }
  void configurePlugin(const Dims* in, int32_t, const Dims* out, int32_t, const DataType* types,
                       const DataType*, const bool*, const bool*, PluginFormat,
                       int32_t batch) noexcept override {
    const bool sound = batch > 0 && types[0] == DataType::kFLOAT && out[0].d[0] == 2 * in[0].d[0];
    width_ = sound ? in[0].d[0] : -1;
  }
};

template <class Made> class DoubledCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return Made(0).getPluginType(); }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Made(1);
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t) noexcept override {
    float factor = 0;
    std::memcpy(&factor, data, sizeof factor);
    return new Made(factor);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

template <class Made> class PluginsWithBatch : public testing::Test {};
using Plugins = testing::Types<TypedDoubled, PlainDoubled>;
TYPED_TEST_SUITE(PluginsWithBatch, Plugins);
using F = std::vector<float>;

TYPED_TEST(PluginsWithBatch, AreToldOfTheBatchApart) {
  plugin_test::Registered<DoubledCreator<TypeParam>> creator{""};
  TypeParam plugin(3);
  Session session;
  ITensor* x[] = {session.input("x", DataType::kFLOAT, {2, 3})};
  ITensor* y = session.network->addPluginV2(x, 1, plugin)->getOutput(0);
  session.output(y, "y");
  EXPECT_EQ(y->getDimensions().nbDims, 2);
  EXPECT_EQ(y->getDimensions().d[1], 6);
  EXPECT_EQ(session.run({{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}})["y"].template values<float>(),
            (F{3, 6, 9, 3, 6, 9, 12, 15, 18, 12, 15, 18}))
      << session.log.text();
}

TYPED_TEST(PluginsWithBatch, TakeNoOtherDynamicExtent) {
  TypeParam plugin(3);
  Session session;
  ITensor* x[] = {session.input("x", DataType::kFLOAT, {2, -1})};
  IPluginV2Layer* layer = session.network->addPluginV2(x, 1, plugin);
  if (layer != nullptr) {
    session.output(layer->getOutput(0), "y");
    session.builder->buildSerializedNetwork(*session.network, *session.config);
  }
  EXPECT_TRUE(session.log.complained("constant but for the batch")) << session.log.text();
}

}  // namespace
}  // namespace api_test
