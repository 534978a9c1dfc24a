#pragma once

#include <string>
#include <utility>

#include "plugin/instance.h"

namespace tenon::plugin {

/// The common part of objects of the second generation.
template <class Plugin> class V2Object : public Instance {
 public:
  explicit V2Object(OwnedV2 owned)
      : owned_(std::move(owned)), plugin_(static_cast<Plugin*>(owned_.get())) {}
  ~V2Object() override {
    if (!initialized_) return;
    plugin_->detachFromContext();
    plugin_->terminate();
  }

  nvinfer1::IPluginV2* second_generation() override { return owned_.get(); }
  tenon::plugin::Identity identity() const override {
    return {plugin_->getPluginType(), plugin_->getPluginVersion(), plugin_->getPluginNamespace()};
  }
  int32_t output_count() const override { return plugin_->getNbOutputs(); }

  Result<std::vector<nvinfer1::DataType>> output_types(
      std::span<const nvinfer1::DataType> inputs) override {
    std::vector<nvinfer1::DataType> types;
    const auto count = static_cast<int32_t>(inputs.size());
    for (int32_t i = 0; i < output_count(); ++i)
      types.push_back(plugin_->getOutputDataType(i, inputs.data(), count));
    return types;
  }

  Result<std::string> serialized() override {
    std::string bytes(plugin_->getSerializationSize(), '\0');
    plugin_->serialize(bytes.data());
    return to_hex(bytes);
  }
  size_t workspace_bytes() const override { return workspace_; }

 protected:
  /// Once for the object, as where a plan is loaded.
  Status initialize() {
    if (!initialized_ && plugin_->initialize() != 0) return failed("initialize failed");
    if (!initialized_) plugin_->attachToContext(nullptr, nullptr, nullptr);
    initialized_ = true;
    return {};
  }

  OwnedV2 owned_;
  Plugin* plugin_;
  size_t workspace_ = 0;

 private:
  bool initialized_ = false;
};

}  // namespace tenon::plugin
