// Plugins that take other types than the network has, and those that change an input in place.
#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// y = x, of one type only; in the memory of x, with 1 added to its first byte, where it is told
/// so.
class Copy final : public plugin_test::Copier<Copy, IPluginV3OneBuildV2> {
 public:
  static constexpr const char* kName = "Copy";
  Copy(int32_t type, int32_t in_place) : type_(type), in_place_(in_place) {}
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].desc.type == static_cast<DataType>(type_) &&
           inOut[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t getAliasedInput(int32_t) noexcept override { return in_place_ != 0 ? 0 : -1; }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    int64_t bytes = bytes_of(in[0].type);
    for (int32_t i = 0; i < in[0].dims.nbDims; ++i) bytes *= in[0].dims.d[i];
    if (in_place_ != 0) {
      if (inputs[0] != outputs[0]) return 1;
      ++static_cast<uint8_t*>(outputs[0])[0];
      return 0;
    }
    std::memcpy(outputs[0], inputs[0], static_cast<size_t>(bytes));
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_[0] = PluginField("type", &type_, PluginFieldType::kINT32, 1);
    fields_[1] = PluginField("in_place", &in_place_, PluginFieldType::kINT32, 1);
    collection_ = {2, fields_};
    return &collection_;
  }

 private:
  int32_t type_, in_place_;
  PluginField fields_[2];
  PluginFieldCollection collection_{};
};

class CopyCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase) noexcept override {
    return new Copy(*static_cast<const int32_t*>(fields->fields[0].data),
                    *static_cast<const int32_t*>(fields->fields[1].data));
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  const char* getPluginName() const noexcept override { return "Copy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

/// x through a plugin of that type.
struct Copied : Session {
  Copied(DataType own, DataType of_plugin, bool in_place = false)
      : plugin(int32_t(of_plugin), in_place) {
    ITensor* x[] = {input("x", own, {4})};
    IPluginV3Layer* layer = network->addPluginV3(x, 1, nullptr, 0, plugin);
    ITensor* copied = layer->getOutput(0);
    type = copied->getType();
    output(in_place ? copied : network->addIdentity(*copied)->getOutput(0), "y");
  }
  plugin_test::Registered<CopyCreator> creator{""};
  Copy plugin;
  DataType type = DataType::kFLOAT;
};

TEST(PluginTypes, AreConvertedWhereThePluginTakesOthers) {
  {
    Copied half(DataType::kFLOAT, DataType::kHALF);
    EXPECT_EQ(half.type, DataType::kFLOAT);
    // 2049 is none of half precision.
    EXPECT_EQ(half.run({{"x", floats({4}, {1, 2, 2049, -0.5F})}})["y"].values<float>(),
              (F{1, 2, 2048, -0.5F}))
        << half.log.text();
  }
  Copied narrow(DataType::kINT64, DataType::kINT32);
  EXPECT_EQ(narrow.type, DataType::kINT64);
  EXPECT_EQ(narrow.run({{"x", integers({4}, {1, -2, 3, 4})}})["y"].values<int64_t>(),
            (std::vector<int64_t>{1, -2, 3, 4}));
}

TEST(PluginTypes, ThatNothingConvertsToAreRefused) {
  Copied session(DataType::kFLOAT, DataType::kBOOL);
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(session.log.complained("does not take input 0 linear and in FP32"));
}

TEST(PluginAliases, ChangeWhatTheInputHolds) {
  Copied session(DataType::kINT32, DataType::kINT32, true);
  ASSERT_TRUE(session.build());
  EXPECT_STREQ(session.engine->getAliasedInputTensor("y"), "x");
  EXPECT_EQ(session.engine->getAliasedInputTensor("x"), nullptr);
  const Arrays y = session.run({{"x", integers32({4}, {1, 2, 3, 4})}});
  EXPECT_EQ(y.at("y").values<int32_t>(), (std::vector<int32_t>{2, 2, 3, 4}));
  // Both in one place, as such inputs and outputs are bound.
  std::vector<int32_t> both = {7, 8, 9, 10};
  ASSERT_TRUE(session.context->setTensorAddress("x", both.data()));
  ASSERT_TRUE(session.context->setTensorAddress("y", both.data()));
  ASSERT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  EXPECT_EQ(both, (std::vector<int32_t>{8, 8, 9, 10}));
}

TEST(PluginCreators, ThatNearlyFitAreNamed) {
  const std::unique_ptr<IHostMemory> plan = [] {
    Copied session(DataType::kFLOAT, DataType::kFLOAT);
    EXPECT_TRUE(session.build());
    return std::move(session.plan);
  }();
  class Other final : public IPluginCreatorV3One {
   public:
    IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                            TensorRTPhase) noexcept override {
      return nullptr;
    }
    const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
    const char* getPluginName() const noexcept override { return "COPY"; }
    const char* getPluginVersion() const noexcept override { return "7"; }
    const char* getPluginNamespace() const noexcept override { return ""; }

   private:
    PluginFieldCollection none_{0, nullptr};
  };
  const plugin_test::Registered<Other> other("");
  Session session;
  session.runtime.reset(createInferRuntime(session.log));
  session.engine.reset(session.runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (session.engine != nullptr) session.context.reset(session.engine->createExecutionContext());
  std::vector<float> x(4), y(4);
  void* bindings[] = {x.data(), y.data()};
  EXPECT_FALSE(session.context != nullptr && session.context->executeV2(bindings));
  EXPECT_TRUE(session.log.complained("'COPY', version '7'"));
}

}  // namespace
}  // namespace api_test
