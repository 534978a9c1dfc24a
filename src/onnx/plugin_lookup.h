#pragma once

#include "NvInferRuntime.h"
#include "onnx/importer.h"

namespace tenon::importer {

/// The creator that answers for a node: of its type, of the version in its attribute plugin_version
/// ("1" without), in the namespace of its attribute plugin_namespace, else of its domain. Or null.
nvinfer1::IPluginCreatorInterface* find_creator(nvinfer1::IPluginRegistry& registry,
                                                const PluginCall& call);

/// ImportOptions::plugin over a registry.
Result<std::vector<Value*>> call_plugin(nvinfer1::IPluginRegistry& registry,
                                        const PluginCall& call);

/// ImportOptions::has_plugin: whether any creator is called so.
bool has_creator(nvinfer1::IPluginRegistry& registry, std::string_view name);

}  // namespace tenon::importer
