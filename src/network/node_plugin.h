#pragma once

#include <string>

#include "network/layer.h"

namespace tenon::network {

/// The plugin object of a layer that stands for a node of ours which no class of the surface
/// describes: it names the operator and the types of its outputs, and cannot run elsewhere.
class NodePlugin final : public nvinfer1::IPluginV3,
                         public nvinfer1::IPluginV3OneCore,
                         public nvinfer1::IPluginV3OneBuild,
                         public nvinfer1::IPluginV3OneRuntime {
 public:
  NodePlugin(const LayerCore& layer, std::string name) : layer_(layer), name_(std::move(name)) {}

  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override;
  /// Null: the object is of its layer.
  nvinfer1::IPluginV3* clone() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return name_.c_str(); }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "tenon"; }

  int32_t getNbOutputs() const noexcept override { return layer_.result_count(); }
  int32_t configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                          const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {
    return kRefused;
  }
  int32_t getOutputDataTypes(PublicType* outputs, int32_t count, const PublicType*,
                             int32_t) const noexcept override;
  int32_t getOutputShapes(const nvinfer1::DimsExprs*, int32_t, const nvinfer1::DimsExprs*, int32_t,
                          nvinfer1::DimsExprs*, int32_t,
                          nvinfer1::IExprBuilder&) noexcept override {
    return kRefused;
  }
  bool supportsFormatCombination(int32_t, const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return false;
  }
  int32_t onShapeChange(const nvinfer1::PluginTensorDesc*, int32_t,
                        const nvinfer1::PluginTensorDesc*, int32_t) noexcept override {
    return kRefused;
  }
  int32_t enqueue(const nvinfer1::PluginTensorDesc*, const nvinfer1::PluginTensorDesc*,
                  const void* const*, void* const*, void*, cudaStream_t) noexcept override {
    return kRefused;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return nullptr;
  }
  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return &no_fields_;
  }

 private:
  static constexpr int32_t kRefused = 1;

  const LayerCore& layer_;
  std::string name_;
  nvinfer1::PluginFieldCollection no_fields_{0, nullptr};
};

}  // namespace tenon::network
