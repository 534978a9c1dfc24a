// Objects that only callbacks see: expressions of extents, resources of plugins, algorithms. Every
// method with arguments that make sense, and such that make none; "quick" plugins are refused.
#include <climits>
#include <functional>

#include "impl/NvInferPythonPlugin.h"
#include "plugins.h"
#include "values.h"

namespace api_calls {
namespace {

using plugin_test::Repeat;

constexpr auto kNoOperation = static_cast<DimensionOperation>(99);

/// Looks at what it is given, then is a Repeat.
class Looking final : public Repeat {
 public:
  using Expressions = std::function<void(const DimsExprs&, IExprBuilder&)>;
  using Resources = std::function<void(IPluginResourceContext*)>;
  Looking() : Repeat(2) {}
  static inline Expressions look_at_expressions;
  static inline Resources look_at_resources;

  IPluginV3* clone() noexcept override { return new Looking; }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t count, const DimsExprs* shapes,
                          int32_t shape_count, DimsExprs* outputs, int32_t output_count,
                          IExprBuilder& builder) noexcept override {
    if (look_at_expressions) look_at_expressions(inputs[0], builder);
    return Repeat::getOutputShapes(inputs, count, shapes, shape_count, outputs, output_count,
                                   builder);
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    if (look_at_resources) look_at_resources(context);
    return clone();
  }
};
class LookingCreator final : public plugin_test::CreatorOf<Repeat> {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return new Looking;
  }
};

/// A network of one plugin; x[-1, 2] has 1 to 4 rows.
struct OfOnePlugin : api_test::Session {
  OfOnePlugin() {
    network->setErrorRecorder(&recorder);
    x = input("x", DataType::kFLOAT, {-1, 2});
    profile("x", {1, 2}, {2, 2}, {4, 2});
  }
  ~OfOnePlugin() {
    Looking::look_at_expressions = nullptr;
    Looking::look_at_resources = nullptr;
  }
  IPluginV3Layer* add(IPluginV3& plugin) { return network->addPluginV3(&x, 1, nullptr, 0, plugin); }
  /// The number of axes of its output; plugins are asked for extents when they are needed.
  int32_t axes(IPluginV3& plugin) {
    IPluginV3Layer* layer = add(plugin);
    return layer == nullptr ? -2 : layer->getOutput(0)->getDimensions().nbDims;
  }
  ITensor* x;
  Recorder recorder;
};

TEST(ObjectsOfCallbacks, BuildersGiveNullForWhatDoesNotExist) {
  OfOnePlugin session;
  int looks = 0;
  Looking::look_at_expressions = [&](const DimsExprs& x, IExprBuilder& builder) {
    ++looks;
    const IDimensionExpr &rows = *x.d[0], &columns = *x.d[1];
    EXPECT_FALSE(rows.isConstant());
    EXPECT_FALSE(rows.isSizeTensor());
    EXPECT_TRUE(columns.isConstant());
    EXPECT_EQ(columns.getConstantValue(), 2);
    for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      const IDimensionExpr* constant = builder.constant(value);
      ASSERT_NE(constant, nullptr);
      EXPECT_TRUE(constant->isConstant());
      EXPECT_EQ(constant->getConstantValue(), value);
    }
    const IDimensionExpr &most = *builder.constant(INT64_MAX), &none = *builder.constant(0);
    for (int32_t i = 0; i < EnumMax<DimensionOperation>(); ++i)
      EXPECT_NE(builder.operation(static_cast<DimensionOperation>(i), rows, columns), nullptr) << i;
    for (const IDimensionExpr* first : {&rows, &columns}) {
      EXPECT_EQ(builder.operation(kNoOperation, *first, columns), nullptr);
      EXPECT_EQ(builder.operation(static_cast<DimensionOperation>(-1), *first, columns), nullptr);
    }
    EXPECT_EQ(builder.operation(DimensionOperation::kSUM, most, most), nullptr) << "above 64 bits";
    EXPECT_EQ(builder.operation(DimensionOperation::kFLOOR_DIV, most, none), nullptr);
    for (const int32_t output : {1, 99, -1, INT_MAX, INT_MIN})
      EXPECT_EQ(builder.declareSizeTensor(output, rows, rows), nullptr) << output;
    const IDimensionExpr* size = builder.declareSizeTensor(0, columns, rows);
    ASSERT_NE(size, nullptr);
    EXPECT_TRUE(size->isSizeTensor());
    EXPECT_EQ(builder.declareSizeTensor(0, rows, *size), nullptr) << "a bound is known before";
  };
  Looking plugin;
  EXPECT_EQ(session.axes(plugin), 2) << session.log.text();
  EXPECT_GE(looks, 1);
}

TEST(ObjectsOfCallbacks, ExpressionsThatDoubleByTheLineEnd) {
  OfOnePlugin session;
  const IDimensionExpr* sum = nullptr;
  int looks = 0;
  Looking::look_at_expressions = [&](const DimsExprs& x, IExprBuilder& builder) {
    ++looks;
    sum = x.d[0];
    for (int i = 0; i < 60 && sum != nullptr; ++i)
      sum = builder.operation(DimensionOperation::kSUM, *sum, *sum);
  };
  Looking plugin;
  EXPECT_EQ(session.axes(plugin), 2) << session.log.text();
  EXPECT_GE(looks, 1);
  EXPECT_EQ(sum, nullptr);
}

/// Shapes with an extent that is null are refused, and the recorder is told.
TEST(ObjectsOfCallbacks, AnOpenExtentIsAnError) {
  class Open final : public Repeat {
   public:
    Open() : Repeat(2) {}
    IPluginV3* clone() noexcept override { return new Open; }
    int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                            DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
      outputs[0] = inputs[0];
      outputs[0].d[0] = builder.operation(kNoOperation, *inputs[0].d[0], *inputs[0].d[0]);
      return 0;
    }
  };
  OfOnePlugin session;
  Open plugin;
  EXPECT_EQ(session.axes(plugin), -1);
  ASSERT_GE(session.recorder.errors.size(), 1U);
  EXPECT_NE(session.recorder.errors[0].second.find("open"), std::string::npos);
}

void use_allocator(IGpuAllocator& allocator) {
  void* memory = allocator.allocate(100, 256, 0);
  EXPECT_NE(memory, nullptr);
  void* other = allocator.allocateAsync(1, 0, 1, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(memory, other);
  EXPECT_EQ(allocator.allocate(0, 256, 0), nullptr);
  EXPECT_EQ(allocator.allocate(100, 3, 0), nullptr) << "3 is no power of two";
  EXPECT_EQ(allocator.allocate(100, UINT64_MAX, UINT32_MAX), nullptr);
  EXPECT_EQ(allocator.allocate(UINT64_MAX, 256, 0), nullptr);
  EXPECT_EQ(allocator.reallocate(memory, 256, 200), nullptr) << "may be refused";
  EXPECT_TRUE(allocator.deallocate(memory));
  EXPECT_FALSE(allocator.deallocate(memory)) << "was freed";
  EXPECT_FALSE(allocator.deallocate(&allocator)) << "is not its own";
  EXPECT_TRUE(allocator.deallocate(nullptr));
  EXPECT_TRUE(allocator.deallocateAsync(other, nullptr));
  EXPECT_FALSE(allocator.deallocateAsync(other, nullptr));
}

TEST(ObjectsOfCallbacks, ResourcesOfPluginsRefuseWhatIsNotTheirs) {
  const plugin_test::Registered<LookingCreator> registered("test");
  OfOnePlugin session;
  Looking plugin;
  IPluginV3Layer* layer = session.add(plugin);
  ASSERT_NE(layer, nullptr) << session.log.text();
  session.output(layer->getOutput(0), "y");
  ASSERT_TRUE(session.build());
  int looks = 0;
  Looking::look_at_resources = [&](IPluginResourceContext* context) {
    ++looks;
    ASSERT_NE(context, nullptr);
    ASSERT_NE(context->getGpuAllocator(), nullptr);
    use_allocator(*context->getGpuAllocator());
    EXPECT_EQ(context->getErrorRecorder(), session.engine->getErrorRecorder());
  };
  session.run({{"x", api_test::floats({1, 2}, {1, 2})}});
  EXPECT_GE(looks, 1);
}

/// Asks its arguments for everything.
class Asking final : public IAlgorithmSelector {
 public:
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                           int32_t count, int32_t*) noexcept override {
    ++asked;
    ask(context);
    for (int32_t i = 0; i < count; ++i)
      ask(*choices[i], context.getNbInputs() + context.getNbOutputs());
    return 0;
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* chosen,
                        int32_t count) noexcept override {
    for (int32_t i = 0; i < count; ++i) {
      ask(*contexts[i]);
      ask(*chosen[i], contexts[i]->getNbInputs() + contexts[i]->getNbOutputs());
    }
  }
  int asked = 0;

 private:
  static void ask(const IAlgorithmContext& context) {
    EXPECT_NE(context.getName(), nullptr);
    const int32_t count = context.getNbInputs() + context.getNbOutputs();
    for (int32_t i = 0; i < EnumMax<OptProfileSelector>(); ++i) {
      const auto select = static_cast<OptProfileSelector>(i);
      EXPECT_EQ(context.getDimensions(0, select).nbDims, 2);
      for (const int32_t index : {count, 99, -1, INT_MAX, INT_MIN})
        EXPECT_EQ(context.getDimensions(index, select).nbDims, -1) << index;
    }
    for (const int32_t select : {99, -1, INT_MAX})
      EXPECT_EQ(context.getDimensions(0, static_cast<OptProfileSelector>(select)).nbDims, -1);
  }
  static void ask(const IAlgorithm& choice, int32_t operands) {
    EXPECT_GE(choice.getTimingMSec(), 0);
    EXPECT_GE(choice.getAlgorithmVariant().getImplementation(), 0);
    EXPECT_GE(choice.getAlgorithmVariant().getTactic(), 0);
    EXPECT_LT(choice.getWorkspaceSize(), size_t{1} << 40);
    for (const int32_t index : {operands, 99, -1, INT_MAX, INT_MIN})
      EXPECT_EQ(choice.getAlgorithmIOInfoByIndex(index), nullptr) << index;
    const IAlgorithmIOInfo* operand = choice.getAlgorithmIOInfoByIndex(0);
    ASSERT_NE(operand, nullptr);
    EXPECT_EQ(operand->getDataType(), DataType::kFLOAT);
    EXPECT_EQ(operand->getStrides().nbDims, 2);
    EXPECT_EQ(operand->getVectorizedDim(), -1);
    EXPECT_EQ(operand->getComponentsPerElement(), 1);
  }
};

TEST(ObjectsOfCallbacks, AlgorithmsAnswerForOperandsThatAreThereAlone) {
  OfOnePlugin session;
  session.output(session.network->addSoftMax(*session.x)->getOutput(0), "y");
  Asking selector;
  session.config->setAlgorithmSelector(&selector);
  EXPECT_TRUE(session.build());
  EXPECT_GE(selector.asked, 1);
}

/// A plugin of one tactic, as Python's are: its interfaces have other methods at the same places.
class Quick final : public IPluginV3,
                    public IPluginV3QuickCore,
                    public IPluginV3QuickAOTBuild,
                    public IPluginV3QuickRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3QuickCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3QuickAOTBuild*>(this);
    return static_cast<IPluginV3QuickRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Quick; }
  const char* getPluginName() const noexcept override { return "Quick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getOutputDataTypes(DataType*, int32_t, const DataType*, const int32_t*,
                             int32_t) const noexcept override {
    return called();
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          IExprBuilder&) noexcept override {
    return called();
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return called();
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t,
                                           int32_t) noexcept override {
    return called();
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t,
                                         PluginTensorDesc*, int32_t) noexcept override {
    return called();
  }
  int32_t getNbOutputs() const noexcept override { return called(); }
  int32_t getLaunchParams(const DimsExprs*, const DynamicPluginTensorDesc*, int32_t, int32_t,
                          IKernelLaunchParams*, ISymExprs*, IExprBuilder&) noexcept override {
    return called();
  }
  int32_t getKernel(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t,
                    const char**, char**, int32_t*) noexcept override {
    return called();
  }
  int32_t setTactic(int32_t) noexcept override { return called(); }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, const Dims*, const Dims*, int32_t, int32_t,
                  cudaStream_t) noexcept override {
    return called();
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    called();
    return nullptr;
  }
  static inline int calls = 0;

 private:
  static int32_t called() { return ++calls; }
};

class QuickCreator final : public IPluginCreatorV3Quick {
 public:
  IPluginV3* createPlugin(const char*, const char*, const PluginFieldCollection*, TensorRTPhase,
                          QuickPluginCreationRequest) noexcept override {
    return new Quick;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Quick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

/// The library makes no ISymExprs and no IKernelLaunchParams: it never asks such plugins.
TEST(ObjectsOfCallbacks, QuickPluginsAreRefusedAndNotAsked) {
  OfOnePlugin session;
  Quick plugin;
  EXPECT_EQ(session.add(plugin), nullptr);
  ASSERT_EQ(session.recorder.errors.size(), 1U);
  EXPECT_NE(session.recorder.errors[0].second.find("IPluginV3OneCore"), std::string::npos);
  getPluginRegistry()->setErrorRecorder(&session.recorder);
  QuickCreator creator;
  EXPECT_FALSE(getPluginRegistry()->registerCreator(creator, ""));
  EXPECT_EQ(session.recorder.errors.size(), 2U);
  getPluginRegistry()->setErrorRecorder(nullptr);
  EXPECT_EQ(Quick::calls, 0);
}

}  // namespace
}  // namespace api_calls
