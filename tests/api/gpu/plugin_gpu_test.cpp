// Plugins that launch kernels of their own on the stream that they are given.
#include <cuda.h>
#include <dlfcn.h>

#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using namespace plugin_test;

/// to[i] = factor * from[i].
constexpr char kScale[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 to, .param .u64 from, .param .f32 factor, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %block, %threads, %thread, %i, %count;
  .reg .f32 %factor, %value;
  .reg .b64 %to, %from, %offset;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  ld.param.f32 %factor, [factor];
  ld.param.u32 %count, [count];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  setp.ge.u32 %p, %i, %count;
  @%p bra DONE;
  mul.wide.u32 %offset, %i, 4;
  add.s64 %from, %from, %offset;
  ld.global.f32 %value, [%from];
  mul.f32 %value, %value, %factor;
  add.s64 %to, %to, %offset;
  st.global.f32 [%to], %value;
DONE:
  ret;
}
)";

/// The driver's functions that a plugin calls, as one that is linked with it would.
struct Driver {
  template <class Function> Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  decltype(&::cuModuleLoadData) load = function<decltype(::cuModuleLoadData)>("cuModuleLoadData");
  decltype(&::cuModuleGetFunction) find =
      function<decltype(::cuModuleGetFunction)>("cuModuleGetFunction");
  decltype(&::cuModuleUnload) unload = function<decltype(::cuModuleUnload)>("cuModuleUnload");
  decltype(&::cuLaunchKernel) launch = function<decltype(::cuLaunchKernel)>("cuLaunchKernel");
};

/// Repeat, by a kernel into the workspace and two copies. Its second tactic takes smaller blocks.
class GpuRepeat final : public Repeat {
 public:
  explicit GpuRepeat(float factor) : Repeat(factor) {}
  ~GpuRepeat() override {
    if (module_ != nullptr) driver_.unload(module_);
  }
  IPluginV3* clone() noexcept override { return new GpuRepeat(factor_); }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    for (int32_t i = 0; i < count; ++i) tactics[i] = 256 >> 2 * i;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    block_ = tactic;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    count_ = static_cast<uint32_t>(in[0].dims.d[0] * in[0].dims.d[1]);
    if (module_ != nullptr) return 0;
    return driver_.load(&module_, kScale) != CUDA_SUCCESS ||
           driver_.find(&scale_, module_, "scale") != CUDA_SUCCESS;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    const void* from = inputs[0];
    void* arguments[] = {&workspace, &from, &factor_, &count_};
    const auto block = static_cast<unsigned>(block_);
    if (driver_.launch(scale_, (count_ + block - 1) / block, 1, 1, block, 1, 1, 0,
                       reinterpret_cast<CUstream>(stream), arguments, nullptr) != CUDA_SUCCESS)
      return 1;
    const size_t bytes = count_ * sizeof(float);
    for (size_t i = 0; i < 2; ++i)
      if (!gpu()->copyAsync(static_cast<char*>(outputs[0]) + i * bytes, workspace, bytes, stream))
        return 1;
    return 0;
  }

 private:
  Driver driver_;
  CUmodule module_ = nullptr;
  CUfunction scale_ = nullptr;
  uint32_t count_ = 0;
  int32_t block_ = 256;
};

/// y = relu(repeat(-x)), of [n, 512].
class RepeatNet {
 public:
  RepeatNet() {
    ITensor* x = session.input("x", DataType::kFLOAT, {-1, 512});
    GpuRepeat plugin(3);
    ITensor* inputs[] = {session.network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0)};
    IPluginV3Layer* layer = session.network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    session.output(
        session.network->addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0),
        "y");
    session.profile("x", {1, 512}, {32, 512}, {100, 512});
  }
  /// A run that is compared.
  void run(int64_t rows, cudaStream_t stream) {
    const auto count = static_cast<size_t>(rows * 512);
    Memory x(count * 4), y(count * 8);
    auto* from = reinterpret_cast<float*>(x.data());
    const auto* to = reinterpret_cast<const float*>(y.data());
    IExecutionContext& context = *session.context;
    ASSERT_TRUE(context.setInputShape("x", dims({rows, 512})));
    ASSERT_TRUE(context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data()));
    for (int run = 0; run < 4; ++run) {
      for (size_t i = 0; i < count; ++i) from[i] = static_cast<float>((i * 7 + run) % 64) - 32;
      ASSERT_TRUE(context.enqueueV3(stream)) << session.log.text();
      ASSERT_TRUE(gpu()->synchronize(stream));
      for (size_t i = 0; i < 2 * count; ++i)
        ASSERT_EQ(to[i], std::max(-3 * from[i % count], 0.0F))
            << "element " << i << ", run " << run;
    }
  }

  Session session;

 private:
  Registered<CreatorOf<GpuRepeat>> registered_{"test"};
};

TEST(GpuPlugin, LaunchesItsKernelsOnTheStream) {
  RepeatNet net;
  ASSERT_TRUE(net.session.build());
  EXPECT_TRUE(tenon::runsOnGpu(*net.session.engine));
  const cudaStream_t stream = gpu()->createStream();
  for (const int64_t rows : {32, 1, 100}) net.run(rows, stream);
  gpu()->destroy(stream);
}

TEST(GpuPlugin, IsPartOfCapturedGraphs) {
  RepeatNet net;
  ASSERT_TRUE(net.session.build());
  ASSERT_TRUE(tenon::setGraphReplay(*net.session.context, true));
  const cudaStream_t stream = gpu()->createStream();
  for (const int64_t rows : {32, 100}) net.run(rows, stream);
  gpu()->destroy(stream);
}

/// y = x in one format alone, by a copy of the whole buffer with its padding.
class GpuBuffer final : public Copier<GpuBuffer> {
 public:
  static constexpr const char* kName = "GpuBuffer";
  static inline TensorFormat format = TensorFormat::kCHW32;
  static inline DataType type = DataType::kFLOAT;

  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[pos].desc.type == type && all[pos].desc.format == format;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    if (in[0].format != format || out[0].format != format) return 1;
    const int64_t vector = format == TensorFormat::kCHW32 ? 32
                           : format == TensorFormat::kHWC ? 1
                                                          : 8;
    const Dims& dims = in[0].dims;
    const int64_t channels = (dims.d[1] + vector - 1) / vector * vector;
    const int64_t bytes = dims.d[0] * channels * dims.d[2] * dims.d[3] * bytes_of(type);
    return gpu()->copyAsync(outputs[0], inputs[0], static_cast<size_t>(bytes), stream) ? 0 : 1;
  }
};

/// Reformats of tensors with 5 channels, so that vectors have padding.
TEST(GpuPlugin, TakesOtherFormatsThanLinear) {
  constexpr std::pair<TensorFormat, DataType> kCases[] = {{TensorFormat::kCHW32, DataType::kFLOAT},
                                                          {TensorFormat::kHWC, DataType::kFLOAT},
                                                          {TensorFormat::kHWC8, DataType::kHALF},
                                                          {TensorFormat::kCHW32, DataType::kHALF}};
  const Registered<StatelessCreator<GpuBuffer>> registered("");
  std::vector<float> values(2 * 5 * 3 * 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 1;
  for (const auto& [format, type] : kCases) {
    GpuBuffer::format = format;
    GpuBuffer::type = type;
    GpuBuffer plugin;
    Session session;
    ITensor* x[] = {session.input("x", DataType::kFLOAT, {2, 5, 3, 4})};
    session.output(session.network->addPluginV3(x, 1, nullptr, 0, plugin)->getOutput(0), "y");
    const Arrays y = session.run({{"x", floats({2, 5, 3, 4}, values)}});
    ASSERT_TRUE(y.contains("y")) << session.log.text();
    EXPECT_EQ(y.at("y").values<float>(), values) << int(format);
  }
}

}  // namespace
}  // namespace api_test
