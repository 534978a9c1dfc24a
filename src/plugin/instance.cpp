#include "plugin/instance.h"

#include <algorithm>

#include "plugin/collective.h"
#include "plugin/missing.h"
#include "plugin/registry.h"

namespace tenon::plugin {
namespace {

/// The highest byte of the version of a plugin of the second generation.
enum Generation : int32_t {
  kPlain = 0,
  kExtension = 1,
  kTypedExtension = 2,
  kDynamicExtension = 3
};

/// Python's plugins have one more bit.
int32_t generation_of(const nvinfer1::IPluginV2& plugin) {
  return plugin.getTensorRTVersion() >> 24 & 0x3F;
}

/// Null for a creator of the third generation.
IPluginCreator* as_second_generation(IPluginCreatorInterface& creator) {
  return std::string_view(creator.getInterfaceInfo().kind) == "PLUGIN CREATOR_V1"
             ? static_cast<IPluginCreator*>(&creator)
             : nullptr;
}

/// An IPluginV2 alone has types for no output.
Status check_generation(const nvinfer1::IPluginV2& plugin) {
  if (generation_of(plugin) != kPlain) return {};
  return unsupported(
      "plugin '{}' is of a generation without types: derive it from IPluginV3 or "
      "IPluginV2DynamicExt",
      plugin.getPluginType());
}

/// `operand` counts on from inputs to outputs.
std::string refusal(int32_t operand, int32_t inputs, const OperandType& type) {
  constexpr std::string_view kNames[] = {"FP32", "FP16", "INT8",  "INT32", "BOOL", "UINT8",
                                         "FP8",  "BF16", "INT64", "INT4",  "FP4",  "E8M0"};
  const auto index = static_cast<size_t>(type.type);
  const std::string format = type.format == nvinfer1::TensorFormat::kLINEAR
                                 ? "linear"
                                 : fmt::format("in format {}", static_cast<int>(type.format));
  return fmt::format("does not take {} {} {} and in {}", operand < inputs ? "input" : "output",
                     operand < inputs ? operand : operand - inputs, format,
                     index < std::size(kNames) ? kNames[index] : "an unknown type");
}

nvinfer1::IPluginV3* no_other() {
  return nullptr;
}

IPluginCreatorInterface* creator_of(const Identity& identity) {
  // Creators that a library registers without a namespace make plugins of any.
  for (const char* space : {identity.space.c_str(), ""})
    if (auto* creator = registry().find(identity.type, identity.version, space)) return creator;
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::clone_of(nvinfer1::IPluginV3& plugin) {
  std::unique_ptr<nvinfer1::IPluginV3> clone(plugin.clone());
  if (clone == nullptr) return user_error("the plugin's clone() gave nothing");
  return make_v3_instance(std::move(clone), &no_other);
}

Result<std::unique_ptr<Instance>> make_v2_instance(OwnedV2 owned) {
  const int32_t generation = generation_of(*owned);
  return generation == kDynamicExtension
             ? make_dynamic_instance(std::move(owned))
             : make_batch_instance(std::move(owned), generation == kTypedExtension);
}

Result<std::unique_ptr<Instance>> Instance::clone_of(nvinfer1::IPluginV2& plugin) {
  TENON_TRY(check_generation(plugin));
  OwnedV2 clone(plugin.clone());
  if (clone == nullptr) return user_error("the plugin's clone() gave nothing");
  return make_v2_instance(std::move(clone));
}

Status Instance::check_formats(std::span<const OperandType> operands, int32_t inputs) {
  if (!builds()) return failed("has no capability kBUILD");
  for (int32_t i = 0; i < static_cast<int32_t>(operands.size()); ++i)
    if (!takes(i, operands, inputs))
      return failed(refusal(i, inputs, operands[static_cast<size_t>(i)]));
  return {};
}

Status Instance::find_creator(const Identity& identity) {
  if (identity.space == kOwnSpace || creator_of(identity) != nullptr) return {};
  return user_error(
      "no creator of plugin '{}', version '{}', namespace '{}' is registered{}: register it, or "
      "load its library, before plans with it are built or run",
      identity.type, identity.version, identity.space, missing_hint(identity));
}

bool Instance::is_second_generation(const Identity& identity) {
  IPluginCreatorInterface* const creator = creator_of(identity);
  return creator != nullptr && as_second_generation(*creator) != nullptr;
}

Result<std::unique_ptr<Instance>> Instance::create(const Identity& identity,
                                                   const std::string& serialized) {
  if (identity.space == kOwnSpace) return read_collective(serialized);
  TENON_TRY(find_creator(identity));
  IPluginCreatorInterface* creator = creator_of(identity);
  const auto failed = [&] {
    return user_error("the creator of plugin '{}' made nothing of its serialized fields",
                      identity.type);
  };
  if (IPluginCreator* second = as_second_generation(*creator)) {
    TENON_ASSIGN(const std::string bytes, from_hex(serialized));
    OwnedV2 plugin(second->deserializePlugin(identity.type.c_str(), bytes.data(), bytes.size()));
    if (plugin == nullptr) return failed();
    plugin->setPluginNamespace(identity.space.c_str());
    return make_v2_instance(std::move(plugin));
  }
  TENON_ASSIGN(const StoredFields fields, StoredFields::read(serialized));
  const nvinfer1::PluginFieldCollection collection = fields.collection();
  const auto make = [&](nvinfer1::TensorRTPhase phase) {
    return static_cast<IPluginCreatorV3One*>(creator)->createPlugin(identity.type.c_str(),
                                                                    &collection, phase);
  };
  std::unique_ptr<nvinfer1::IPluginV3> plugin(make(nvinfer1::TensorRTPhase::kRUNTIME));
  if (plugin == nullptr) return failed();
  return make_v3_instance(std::move(plugin), [&] { return make(nvinfer1::TensorRTPhase::kBUILD); });
}

Result<std::unique_ptr<Instance>> Instance::made_by(IPluginCreatorInterface& creator,
                                                    const std::string& name,
                                                    const nvinfer1::PluginFieldCollection& fields) {
  const auto failed = [&] {
    return user_error("the creator of plugin '{}' made nothing of {} fields", name_of(creator),
                      fields.nbFields);
  };
  if (IPluginCreator* second = as_second_generation(creator)) {
    OwnedV2 plugin(second->createPlugin(name.c_str(), &fields));
    if (plugin == nullptr) return failed();
    TENON_TRY(check_generation(*plugin));
    plugin->setPluginNamespace(second->getPluginNamespace());
    return make_v2_instance(std::move(plugin));
  }
  std::unique_ptr<nvinfer1::IPluginV3> plugin(
      static_cast<IPluginCreatorV3One&>(creator).createPlugin(name.c_str(), &fields,
                                                              nvinfer1::TensorRTPhase::kBUILD));
  if (plugin == nullptr) return failed();
  return make_v3_instance(std::move(plugin), &no_other);
}

std::string_view version_of(IPluginCreatorInterface& creator) {
  if (IPluginCreator* second = as_second_generation(creator)) return second->getPluginVersion();
  return static_cast<IPluginCreatorV3One&>(creator).getPluginVersion();
}

std::string_view space_of(IPluginCreatorInterface& creator) {
  if (IPluginCreator* second = as_second_generation(creator)) return second->getPluginNamespace();
  return static_cast<IPluginCreatorV3One&>(creator).getPluginNamespace();
}

std::string_view name_of(IPluginCreatorInterface& creator) {
  if (IPluginCreator* second = as_second_generation(creator)) return second->getPluginName();
  return static_cast<IPluginCreatorV3One&>(creator).getPluginName();
}

const nvinfer1::PluginFieldCollection* fields_of(IPluginCreatorInterface& creator) {
  if (IPluginCreator* second = as_second_generation(creator)) return second->getFieldNames();
  return static_cast<IPluginCreatorV3One&>(creator).getFieldNames();
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
  std::vector<nvinfer1::DynamicPluginTensorDesc> result;
  for (const OperandType& operand : operands) {
    const nvinfer1::PluginTensorDesc plain{operand.dims, operand.type, operand.format,
                                           operand.scale};
    nvinfer1::Dims closed = operand.dims;
    std::replace_if(
        closed.d, closed.d + std::max(closed.nbDims, 0), [](int64_t e) { return e < 0; }, 1);
    const ExtentBounds bounds = operand.bounds.value_or(ExtentBounds{closed, closed, closed});
    result.push_back({plain, bounds.min, bounds.max, bounds.opt});
  }
  return result;
}

}  // namespace tenon::plugin
