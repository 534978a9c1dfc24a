// Plugins of the second generation as they are written for TensorRT: final methods of the base
// classes are not overridden, and the others are, with `override`.
#include <NvInferPlugin.h>

#include <string>
#include <type_traits>
#include <vector>

using namespace nvinfer1;

// Headers of applications name it beside their own defaults.
bool LoadEngine(const char* file, nvinfer1::IPluginFactory* factory = nullptr);

namespace {

template <class Base> class Named : public Base {
 public:
  AsciiChar const* getPluginType() const noexcept override { return "Scale"; }
  AsciiChar const* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof(float); }
  void serialize(void* buffer) const noexcept override { *static_cast<float*>(buffer) = 2; }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(AsciiChar const* space) noexcept override { mNamespace = space; }
  AsciiChar const* getPluginNamespace() const noexcept override { return mNamespace.c_str(); }
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override {
    return types[0];
  }

 private:
  std::string mNamespace;
};

class DynamicScale final : public Named<IPluginV2DynamicExt> {
 public:
  IPluginV2DynamicExt* clone() const noexcept override { return new DynamicScale(*this); }
  DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t, PluginTensorDesc const*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
};

class BatchedScale final : public Named<IPluginV2IOExt> {
 public:
  IPluginV2Ext* clone() const noexcept override { return new BatchedScale(*this); }
  Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override {
    return inputs[0];
  }
  bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, void const* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }
  void configurePlugin(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                       int32_t) noexcept override {}
  bool supportsFormatCombination(int32_t, PluginTensorDesc const*, int32_t,
                                 int32_t) const noexcept override {
    return true;
  }
};

// Tests of plugins make expressions of their own.
class OwnBuilder final : public IExprBuilder {};

static_assert(!std::is_abstract_v<DynamicScale> && !std::is_abstract_v<BatchedScale>);
static_assert(!std::is_abstract_v<OwnBuilder> && !std::is_abstract_v<IDimensionExpr>);

}  // namespace

bool pluginsCanBeMade();
bool pluginsCanBeMade() {
  DynamicScale dynamic;
  BatchedScale batched;
  IPluginV2* const copies[] = {dynamic.clone(), batched.clone()};
  // The generation is told by the highest byte.
  const bool told =
      copies[0]->getTensorRTVersion() >> 24 == 3 && copies[1]->getTensorRTVersion() >> 24 == 2;
  for (IPluginV2* copy : copies) copy->destroy();
  return told;
}
