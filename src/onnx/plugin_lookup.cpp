#include "onnx/plugin_lookup.h"

#include <algorithm>

#include "network/plugin_node.h"
#include "onnx/plugin_fields.h"
#include "onnx_proto/onnx.pb.h"
#include "plugin/missing.h"
#include "plugin/registry.h"

namespace tenon::importer {
namespace {

using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginRegistry;
using plugin::Instance;

/// A miss is told by the importer, so that our own registry is asked without its error recorder.
IPluginCreatorInterface* quietly(IPluginRegistry& registry, const std::string& name,
                                 const std::string& version, const std::string& space) {
  if (const auto* own = dynamic_cast<const plugin::Registry*>(&registry))
    return own->find(name, version, space);
  return registry.getCreator(name.c_str(), version.c_str(), space.c_str());
}

IPluginCreatorInterface* find_creator(NodeImporter& node, IPluginRegistry& registry) {
  const std::string version = node.text("plugin_version", "1");
  const std::string space = node.text("plugin_namespace", "");
  for (const std::string& where : {space, node.node().domain()})
    if (auto* creator = quietly(registry, node.op_type(), version, where)) return creator;
  return nullptr;
}

/// A plugin's inputs, then its shape inputs.
struct Operands {
  std::vector<Value*> values;
  int32_t inputs = 0;
};

Operands operands_of(NodeImporter& node) {
  const int count = node.input_count();
  std::vector<bool> gives_shape(static_cast<size_t>(count));
  for (const int64_t index : node.integer_list("tensorrt_plugin_shape_input_indices")) {
    const int64_t at = index < 0 ? index + count : index;
    if (at >= 0 && at < count)
      gives_shape[static_cast<size_t>(at)] = true;
    else
      node.fail(ImportCode::kUnsupportedNodeAttr,
                fmt::format("shape input {} is none of the node's {} inputs", index, count));
  }
  Operands operands;
  for (const bool shapes : {false, true}) {
    for (int i = 0; i < count; ++i)
      if (gives_shape[static_cast<size_t>(i)] == shapes) operands.values.push_back(node.input(i));
    if (!shapes) operands.inputs = static_cast<int32_t>(operands.values.size());
  }
  // TODO: plugins with optional inputs, once the operator Plugin knows absent operands.
  if (std::count(operands.values.begin(), operands.values.end(), nullptr) > 0)
    node.fail(ImportCode::kUnsupportedNodeInput, "an input of the plugin is left out");
  return operands;
}

Result<std::unique_ptr<Instance>> make_instance(NodeImporter& node,
                                                IPluginCreatorInterface& creator) {
  TENON_ASSIGN(const plugin::StoredFields fields,
               read_plugin_fields(node, plugin::fields_of(creator)));
  return Instance::made_by(creator, node.label(), fields.collection());
}

Status emit_instance(NodeImporter& node, Instance& instance) {
  const Operands operands = operands_of(node);
  if (!node.ok()) return {};
  TENON_ASSIGN(const std::vector<Value*> results,
               network::add_plugin(node, instance, operands.values, operands.inputs));
  for (size_t i = 0; i < results.size(); ++i) node.output(static_cast<int>(i), results[i]);
  return {};
}

Status emit(NodeImporter& node, IPluginCreatorInterface& creator) {
  TENON_ASSIGN(const std::unique_ptr<Instance> instance, make_instance(node, creator));
  return emit_instance(node, *instance);
}

}  // namespace

namespace {

/// A plugin of the second generation as networks that are written as ONNX hold it.
Result<std::unique_ptr<Instance>> read_back(NodeImporter& node, IPluginRegistry& registry) {
  const std::string name = node.text("name", ""), version = node.text("version", "1"),
                    space = node.text("namespace", ""), data = node.text("data", "");
  IPluginCreatorInterface* const found = quietly(registry, name, version, space);
  const bool second =
      found != nullptr && std::string_view(found->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1";
  auto* const creator = second ? static_cast<nvinfer1::IPluginCreator*>(found) : nullptr;
  if (creator == nullptr)
    return user_error(
        "there is no creator of the plugin '{}', version {}, namespace '{}': load its "
        "library first{}",
        name, version, space, plugin::missing_hint({name, version, space}));
  nvinfer1::IPluginV2* const plugin =
      creator->deserializePlugin(node.label().c_str(), data.data(), data.size());
  if (plugin == nullptr)
    return user_error("the creator of '{}' does not take the {} bytes of attribute 'data'", name,
                      data.size());
  auto instance = Instance::clone_of(*plugin);
  plugin->destroy();
  return instance;
}

Status emit_read_back(NodeImporter& node, IPluginRegistry& registry) {
  TENON_ASSIGN(const std::unique_ptr<Instance> instance, read_back(node, registry));
  return emit_instance(node, *instance);
}

}  // namespace

bool import_plugin(NodeImporter& node, IPluginRegistry& registry) {
  if (node.op_type() == "TRT_PluginV2") {
    if (Status status = emit_read_back(node, registry); !status.ok()) node.fail(status.error());
    return true;
  }
  IPluginCreatorInterface* creator = find_creator(node, registry);
  if (creator == nullptr && node.ok()) return false;
  if (!node.ok()) return true;
  if (Status status = emit(node, *creator); !status.ok()) node.fail(status.error());
  return true;
}

std::string plugin_hint(const std::string& name) {
  return plugin::missing_hint({name, "1", ""});
}

bool has_creator(IPluginRegistry& registry, std::string_view name) {
  int32_t count = 0;
  IPluginCreatorInterface* const* creators = registry.getAllCreators(&count);
  for (int32_t i = 0; creators != nullptr && i < count; ++i)
    if (plugin::name_of(*creators[i]) == name) return true;
  return false;
}

}  // namespace tenon::importer
