// A library of two plugins, one of each generation that TensorRT 10 has: rows of a tensor, rotated
// by `shift` along the first axis. Applications load it by its file's name (plugins.cpp).
#include "common.h"

using namespace nvinfer1;

namespace {

/// Two copies, on the stream where there is a GPU.
int32_t roll(const PluginTensorDesc& tensor, const void* from, void* to, int32_t shift,
             cudaStream_t stream) {
  int64_t row = sizeof(float);
  for (int32_t i = 1; i < tensor.dims.nbDims; ++i) row *= tensor.dims.d[i];
  const int64_t rows = tensor.dims.d[0], first = rows == 0 ? 0 : (shift % rows + rows) % rows;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const auto copy = [&](char* there, const char* here, int64_t count) {
    if (example::gpu() != nullptr)
      return example::gpu()->copyAsync(there, here, static_cast<size_t>(count * row), stream);
    std::memcpy(there, here, static_cast<size_t>(count * row));
    return true;
  };
  return copy(target + first * row, source, rows - first) &&
                 copy(target, source + (rows - first) * row, first)
             ? 0
             : 1;
}

int32_t shift_of(const PluginFieldCollection* fields) {
  for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i)
    if (std::strcmp(fields->fields[i].name, "shift") == 0)
      return *static_cast<const int32_t*>(fields->fields[i].data);
  return 1;
}

const PluginFieldCollection& field_names() {
  static const PluginField field{"shift", nullptr, PluginFieldType::kINT32, 1};
  static const PluginFieldCollection all{1, &field};
  return all;
}

bool is_linear_f32(const PluginTensorDesc& tensor) {
  return tensor.type == DataType::kFLOAT && tensor.format == TensorFormat::kLINEAR;
}

class RollV2 final : public IPluginV2DynamicExt {
 public:
  explicit RollV2(int32_t shift) : shift_(shift) {}
  const char* getPluginType() const noexcept override { return "ExampleRoll"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof shift_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &shift_, sizeof shift_);
  }
  void destroy() noexcept override { delete this; }
  IPluginV2DynamicExt* clone() const noexcept override { return new RollV2(shift_); }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return is_linear_f32(all[at]);
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* from,
                  void* const* to, void*, cudaStream_t stream) noexcept override {
    return roll(in[0], from[0], to[0], shift_, stream);
  }

 private:
  int32_t shift_;
};

class RollV3 final : public IPluginV3,
                     public IPluginV3OneCore,
                     public IPluginV3OneBuild,
                     public IPluginV3OneRuntime {
 public:
  explicit RollV3(int32_t shift) : shift_(shift) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new RollV3(shift_); }
  const char* getPluginName() const noexcept override { return "ExampleRoll"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs,
                             int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return is_linear_f32(all[at].desc);
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* from,
                  void* const* to, void*, cudaStream_t stream) noexcept override {
    return roll(in[0], from[0], to[0], shift_, stream);
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &stored_; }

 private:
  int32_t shift_;
  PluginField field_{"shift", &shift_, PluginFieldType::kINT32, 1};
  PluginFieldCollection stored_{1, &field_};
};

class CreatorV2 final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "ExampleRoll"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &field_names(); }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    return new RollV2(shift_of(fields));
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t) noexcept override {
    int32_t shift = 0;
    std::memcpy(&shift, data, sizeof shift);
    return new RollV2(shift);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class CreatorV3 final : public IPluginCreatorV3One {
 public:
  const char* getPluginName() const noexcept override { return "ExampleRoll"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &field_names(); }
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase) noexcept override {
    return new RollV3(shift_of(fields));
  }
};

}  // namespace

/// IPluginRegistry::loadLibrary() asks for these two.
extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}
extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(
    int32_t& count) {
  static CreatorV2 second;
  static CreatorV3 third;
  static IPluginCreatorInterface* const all[] = {&second, &third};
  count = 2;
  return all;
}
