// Plugins that tests register: Repeat of the third generation, Offset of the second.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "NvInfer.h"

namespace plugin_test {

using namespace nvinfer1;  // Their own names, as plugins are written.

/// A plugin called `Plugin::kName`, in no namespace and without fields, with no workspace and one
/// output that is like its first input. It defines the rest of its functions, and others where it
/// differs.
template <class Plugin, class Build = IPluginV3OneBuild>
class Copier : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<Build*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Plugin(static_cast<const Plugin&>(*this)); }
  const char* getPluginName() const noexcept override { return Plugin::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
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
  int32_t getNbOutputs() const noexcept override { return 1; }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  PluginFieldCollection none_{};
};

template <class Plugin> struct StatelessCreator final : IPluginCreatorV3One {
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return new Plugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none; }
  const char* getPluginName() const noexcept override { return Plugin::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  PluginFieldCollection none{};
};

/// y = factor * x, with the rows doubled: [n, m] to [2 n, m].
class Repeat : public Copier<Repeat> {
 public:
  static constexpr const char* kName = "Repeat";
  explicit Repeat(float factor) : factor_(factor) {}
  const char* getPluginNamespace() const noexcept override { return "test"; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t nbInputs,
                          const DynamicPluginTensorDesc*, int32_t) noexcept override {
    return nbInputs == 1 ? 0 : 1;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    outputs[0] = inputs[0];
    outputs[0].d[0] =
        builder.operation(DimensionOperation::kPROD, *inputs[0].d[0], *builder.constant(2));
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].desc.type == DataType::kFLOAT &&
           inOut[pos].desc.format == TensorFormat::kLINEAR;
  }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* inputs, int32_t,
                          const DynamicPluginTensorDesc*, int32_t) const noexcept override {
    return static_cast<size_t>(inputs[0].max.d[0] * inputs[0].max.d[1]) * sizeof(float);
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc* out,
                        int32_t) noexcept override {
    return out[0].dims.d[0] == 2 * in[0].dims.d[0] ? 0 : 1;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t) noexcept override {
    if (factor_ < 0) return 1;
    const int64_t count = in[0].dims.d[0] * in[0].dims.d[1];
    auto* scratch = static_cast<float*>(workspace);
    for (int64_t i = 0; i < count; ++i)
      scratch[i] = factor_ * static_cast<const float*>(inputs[0])[i];
    for (int64_t i = 0; i < 2 * count; ++i) static_cast<float*>(outputs[0])[i] = scratch[i % count];
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = PluginField("factor", &factor_, PluginFieldType::kFLOAT32, 1);
    fields_ = {1, &field_};
    return &fields_;
  }

 protected:
  float factor_;

 private:
  PluginField field_;
  PluginFieldCollection fields_{};
};

/// Creates a Repeat, or a class derived from it.
template <class Plugin> class CreatorOf : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    last_phase = phase;
    for (int32_t i = 0; i < fields->nbFields; ++i)
      if (std::string(fields->fields[i].name) == "factor")
        return new Plugin(*static_cast<const float*>(fields->fields[i].data));
    return nullptr;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &known_; }
  const char* getPluginName() const noexcept override { return "Repeat"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
  TensorRTPhase last_phase = TensorRTPhase::kBUILD;

 private:
  PluginField field_{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection known_{1, &field_};
};

using RepeatCreator = CreatorOf<Repeat>;

/// y = x + offset, of the older generation.
class Offset final : public IPluginV2DynamicExt {
 public:
  explicit Offset(float offset) : offset_(offset) {}
  const char* getPluginType() const noexcept override { return "Offset"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof offset_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &offset_, sizeof offset_);
  }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  IPluginV2DynamicExt* clone() const noexcept override { return new Offset(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].type == DataType::kFLOAT;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int32_t i = 0; i < in[0].dims.nbDims; ++i) count *= in[0].dims.d[i];
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + offset_;
    return 0;
  }

 private:
  float offset_;
  std::string space_;
};

class OffsetCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Offset"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &known_; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    return fields->nbFields == 1 ? new Offset(*static_cast<const float*>(fields->fields[0].data))
                                 : nullptr;
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t size) noexcept override {
    if (size != sizeof(float)) return nullptr;
    float offset = 0;
    std::memcpy(&offset, data, size);
    return new Offset(offset);
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  PluginField field_{"offset", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection known_{1, &field_};
  std::string space_;
};

/// Registers a creator for as long as it lives.
template <class Creator> struct Registered {
  explicit Registered(const char* space) {
    EXPECT_TRUE(getPluginRegistry()->registerCreator(as_interface(), space));
  }
  ~Registered() { EXPECT_TRUE(getPluginRegistry()->deregisterCreator(as_interface())); }
  IPluginCreatorInterface& as_interface() { return creator; }
  Creator creator;
};

}  // namespace plugin_test
