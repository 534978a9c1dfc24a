#include "api/layer_metadata.h"

#include <nlohmann/json.hpp>

#include "api/layer_description.h"
#include "api/plan_settings.h"
#include "network/adopt.h"

namespace tenon::api {

namespace {

/// By the names that nodes have for the layer.
void note_layer(const network::LayerCore& layer, nlohmann::ordered_json& layers) {
  if (!layer.is_imported()) {
    layers[layer.name()] = layer.metadata();
    return;
  }
  const Node& node = *layer.nodes()[0];
  if (layer.metadata() == network::metadata_of(node)) return;
  for (const std::string& origin : node.origins) layers[origin] = layer.metadata();
}

}  // namespace

void note_metadata(const network::Network& network, Plan& plan) {
  nlohmann::ordered_json layers;
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    if (const auto* layer = dynamic_cast<const network::LayerCore*>(network.getLayer(i)))
      note_layer(*layer, layers);
  if (!layers.empty()) plan.settings[kMetadataSetting] = json_text(layers);
}

LayerMetadata metadata_of(const Plan& plan) {
  LayerMetadata layers;
  const auto setting = plan.settings.find(kMetadataSetting);
  if (setting == plan.settings.end()) return layers;
  const auto json = nlohmann::ordered_json::parse(setting->second, nullptr, false);
  if (!json.is_object()) return layers;
  for (const auto& [name, metadata] : json.items())
    if (metadata.is_string()) layers[name] = metadata.get<std::string>();
  return layers;
}

std::string metadata_of(const Node& node, const LayerMetadata& layers) {
  std::string text;
  for (const std::string& origin : node.origins) {
    const auto found = layers.find(origin);
    const std::string one = found == layers.end() ? network::metadata_of(origin) : found->second;
    if (!one.empty()) text += (text.empty() ? "" : "\x1e") + one;
  }
  return text;
}

}  // namespace tenon::api
