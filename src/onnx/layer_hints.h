#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "onnx/importer.h"

namespace tenon::network {
class Network;
}

namespace tenon::importer {

class NodeImporter;

/// A node's attributes trt_layer_precision, trt_outputs_range_min, trt_outputs_range_max and
/// trt_outputs_loc, which TensorRT writes with the layers of a network. Attributes of another form
/// fail the node. For models whose producer is TensorRT: elsewhere the names mean nothing.
std::optional<LayerHint> read_hint(NodeImporter& node);

/// Sets the precision of the layer and the ranges of its outputs, as the application could. Nodes
/// that became constants, and places of tensors, which the engine chooses, get a remark.
void apply_hint(const LayerHint& hint, network::Network& network, Logger& log);

}  // namespace tenon::importer
