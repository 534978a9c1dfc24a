#pragma once

#include "network/node_plugin.h"

namespace tenon::network {

/// A layer that no class of the surface describes: programs see one of a plugin, which has the name
/// of the operator.
class OtherLayer : public LayerOf<nvinfer1::IPluginV3Layer, LayerType::kPLUGIN_V3> {
 public:
  OtherLayer(Network& network, std::string operation)
      : LayerOf(network), plugin_(*this, std::move(operation)) {}
  nvinfer1::IPluginV3& getPlugin() noexcept override { return plugin_; }

 private:
  NodePlugin plugin_;
};

}  // namespace tenon::network
