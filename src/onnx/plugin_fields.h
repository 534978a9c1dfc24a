#pragma once

#include "NvInferRuntime.h"
#include "onnx/node_importer.h"
#include "plugin/instance.h"

namespace tenon::importer {

/// The node's attributes that a creator names, as its fields. The attribute decides the kind:
/// floats are kFLOAT32, integers kINT32, a string kCHAR, a tensor of its own type; fields declared
/// kFLOAT64 or kINT64 get that width. `declared` may be null.
Result<plugin::StoredFields> read_plugin_fields(NodeImporter& node,
                                                const nvinfer1::PluginFieldCollection* declared);

}  // namespace tenon::importer
