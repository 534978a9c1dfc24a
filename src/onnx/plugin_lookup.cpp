#include "onnx/plugin_lookup.h"

#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginRegistry;

std::string text_attribute(const ::onnx::NodeProto& node, std::string_view name,
                           std::string_view otherwise) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name && attribute.type() == ::onnx::AttributeProto::STRING)
      return attribute.s();
  return std::string(otherwise);
}

/// The name that a creator of either interface was registered by.
std::string_view name_of(IPluginCreatorInterface& creator) {
  if (auto* three = dynamic_cast<nvinfer1::IPluginCreatorV3One*>(&creator))
    return three->getPluginName();
  if (auto* two = dynamic_cast<nvinfer1::IPluginCreator*>(&creator)) return two->getPluginName();
  return {};
}

}  // namespace

IPluginCreatorInterface* find_creator(IPluginRegistry& registry, const PluginCall& call) {
  const auto& node = *static_cast<const ::onnx::NodeProto*>(call.node);
  const std::string version = text_attribute(node, "plugin_version", "1");
  const std::string space = text_attribute(node, "plugin_namespace", "");
  if (auto* creator = registry.getCreator(call.op_type.c_str(), version.c_str(), space.c_str()))
    return creator;
  return registry.getCreator(call.op_type.c_str(), version.c_str(), call.domain.c_str());
}

// TODO: build the plugin from the node's attributes, once networks can hold plugins; until then the
// message says so rather than asking for a plugin that is there.
Result<std::vector<Value*>> call_plugin(IPluginRegistry& registry, const PluginCall& call) {
  if (find_creator(registry, call) == nullptr) return std::vector<Value*>{};
  return unsupported("the plugin \"{}\" is registered, but networks cannot hold plugins yet",
                     call.op_type);
}

bool has_creator(IPluginRegistry& registry, std::string_view name) {
  int32_t count = 0;
  IPluginCreatorInterface* const* creators = registry.getAllCreators(&count);
  for (int32_t i = 0; creators != nullptr && i < count; ++i)
    if (name_of(*creators[i]) == name) return true;
  return false;
}

}  // namespace tenon::importer
