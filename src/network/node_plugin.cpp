#include "network/node_plugin.h"

namespace tenon::network {

nvinfer1::IPluginCapability* NodePlugin::getCapabilityInterface(
    nvinfer1::PluginCapabilityType type) noexcept {
  if (type == nvinfer1::PluginCapabilityType::kCORE)
    return static_cast<nvinfer1::IPluginV3OneCore*>(this);
  if (type == nvinfer1::PluginCapabilityType::kBUILD)
    return static_cast<nvinfer1::IPluginV3OneBuild*>(this);
  return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
}

int32_t NodePlugin::getOutputDataTypes(PublicType* outputs, int32_t count, const PublicType*,
                                       int32_t) const noexcept {
  if (count != layer_.result_count()) return kRefused;
  for (int32_t i = 0; i < count; ++i) outputs[i] = layer_.result_type(i);
  return 0;
}

}  // namespace tenon::network
