#pragma once

#include "network/layer.h"

namespace tenon::network {

/// A layer that no class of the surface describes: programs see one of a plugin, which cannot be
/// asked for anything.
class OtherLayer : public LayerOf<nvinfer1::IPluginV3Layer, LayerType::kPLUGIN_V3> {
 public:
  explicit OtherLayer(Network& network) : LayerOf(network) {}
  nvinfer1::IPluginV3& getPlugin() noexcept override { return plugin_; }

 private:
  class NoPlugin final : public nvinfer1::IPluginV3 {
   public:
    nvinfer1::IPluginCapability* getCapabilityInterface(
        nvinfer1::PluginCapabilityType) noexcept override {
      return nullptr;
    }
    nvinfer1::IPluginV3* clone() noexcept override { return nullptr; }
  };

  NoPlugin plugin_;
};

}  // namespace tenon::network
