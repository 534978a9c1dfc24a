#pragma once

#include "NvInferRuntime.h"
#include "onnx/node_importer.h"

namespace tenon::importer {

/// ImportOptions::plugin over a registry: imports the node as the plugin whose creator answers for
/// its type, in the version of its attribute plugin_version ("1" without) and in the namespace of
/// its attribute plugin_namespace, else of its domain. Attributes become the fields that the
/// creator names (onnx/plugin_fields.h); tensorrt_plugin_shape_input_indices are the inputs that
/// the plugin only takes extents from. False when there is no such creator.
bool import_plugin(NodeImporter& node, nvinfer1::IPluginRegistry& registry);

/// ImportOptions::has_plugin: whether any creator is called so.
bool has_creator(nvinfer1::IPluginRegistry& registry, std::string_view name);

/// ImportOptions::plugin_hint.
std::string plugin_hint(const std::string& name);

}  // namespace tenon::importer
