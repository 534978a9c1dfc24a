#include "network/adopt.h"

namespace tenon::network {
namespace {

/// Stands for a plugin that only the model knows.
class NoPlugin final : public nvinfer1::IPluginV3 {
 public:
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV3* clone() noexcept override { return nullptr; }
};

/// A node that no layer type of the surface describes. It can be connected and named, not changed.
class OtherLayer final : public LayerOf<nvinfer1::IPluginV3Layer, LayerType::kPLUGIN_V3> {
 public:
  explicit OtherLayer(Network& network) : LayerOf(network) { forbid_changes(); }
  nvinfer1::IPluginV3& getPlugin() noexcept override { return plugin_; }
  std::vector<Value*> lower(Emitter& e) override {
    e.fail(internal_error("an imported node has no other form"));
    return {};
  }

 private:
  NoPlugin plugin_;
};

}  // namespace

std::unique_ptr<LayerCore> adopt_node(Network& network, Node& node) {
  switch (node.kind()) {
#define TENON_LAYER_TYPE(Struct, type) \
  case OpKind::k##Struct:              \
    return adopt(network, node, *node.as<tenon::Struct>());
#include "network/layer_types.def"
    default:
      return std::make_unique<OtherLayer>(network);
  }
}

}  // namespace tenon::network
