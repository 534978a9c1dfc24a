#include "plugin/instance.h"

#include "plugin/registry.h"

namespace tenon::plugin {
namespace {

constexpr int32_t kDynamicExtension = 3;

IPluginCreatorInterface* creator_of(const Identity& identity) {
  // Creators that a library registers without a namespace make plugins of any.
  for (const char* space : {identity.space.c_str(), ""})
    if (auto* creator =
            registry().getCreator(identity.type.c_str(), identity.version.c_str(), space))
      return creator;
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::clone_of(nvinfer1::IPluginV3& plugin) {
  nvinfer1::IPluginV3* clone = plugin.clone();
  if (clone == nullptr) return user_error("the plugin's clone() gave nothing");
  return make_v3_instance(clone);
}

Result<std::unique_ptr<Instance>> Instance::clone_of(nvinfer1::IPluginV2& plugin) {
  // The highest byte tells the generation; Python's plugins have one more bit.
  const int32_t generation = plugin.getTensorRTVersion() >> 24 & 0x3F;
  if (generation != kDynamicExtension)
    return unsupported(
        "plugin '{}' is of a generation with implicit batches: derive it from IPluginV3 or "
        "IPluginV2DynamicExt",
        plugin.getPluginType());
  nvinfer1::IPluginV2* clone = plugin.clone();
  if (clone == nullptr) return user_error("the plugin's clone() gave nothing");
  return make_v2_instance(clone);
}

Status Instance::find_creator(const Identity& identity) {
  if (creator_of(identity) != nullptr) return {};
  return user_error(
      "no creator of plugin '{}', version '{}', namespace '{}' is registered: register it, or load "
      "its library, before plans with it are built or run",
      identity.type, identity.version, identity.space);
}

Result<std::unique_ptr<Instance>> Instance::create(const Identity& identity,
                                                   const std::string& serialized) {
  TENON_TRY(find_creator(identity));
  IPluginCreatorInterface* creator = creator_of(identity);
  const auto failed = [&] {
    return user_error("the creator of plugin '{}' made nothing of its serialized fields",
                      identity.type);
  };
  if (std::string_view(creator->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1") {
    TENON_ASSIGN(const std::string bytes, from_hex(serialized));
    auto* plugin = static_cast<IPluginCreator*>(creator)->deserializePlugin(
        identity.type.c_str(), bytes.data(), bytes.size());
    if (plugin == nullptr) return failed();
    plugin->setPluginNamespace(identity.space.c_str());
    return make_v2_instance(plugin);
  }
  TENON_ASSIGN(const StoredFields fields, StoredFields::read(serialized));
  const nvinfer1::PluginFieldCollection collection = fields.collection();
  auto* plugin = static_cast<IPluginCreatorV3One*>(creator)->createPlugin(
      identity.type.c_str(), &collection, nvinfer1::TensorRTPhase::kRUNTIME);
  if (plugin == nullptr) return failed();
  return make_v3_instance(plugin);
}

std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_descriptions(
    std::span<const nvinfer1::PluginTensorDesc> operands) {
  std::vector<nvinfer1::DynamicPluginTensorDesc> result;
  for (const nvinfer1::PluginTensorDesc& operand : operands)
    result.push_back({operand, operand.dims, operand.dims, operand.dims});
  return result;
}

std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_descriptions(
    std::span<const OperandType> operands) {
  std::vector<nvinfer1::PluginTensorDesc> plain;
  for (const OperandType& operand : operands)
    plain.push_back({operand.dims, operand.type, nvinfer1::TensorFormat::kLINEAR, 1.0F});
  return dynamic_descriptions(plain);
}

}  // namespace tenon::plugin
