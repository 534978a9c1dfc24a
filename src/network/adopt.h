#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "network/layer.h"
#include "ops/ops.h"

namespace tenon::network {

/// Makes the layer of an imported node, its attributes read from the operator; one for each row of
/// network/layer_types.def, defined beside the layer's class.
#define TENON_LAYER_TYPE(Struct, type) \
  std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Struct& op);
#include "network/layer_types.def"

/// The layer of a node that the classes of the surface have no word for: of type kPLUGIN_V3. It can
/// be connected and named, not changed.
std::unique_ptr<LayerCore> adopt_other(Network& network, const Node& node);

/// "[ONNX Layer: a]": the words of the layer of a model's node.
std::string metadata_of(std::string_view origin);
/// The same for each of the node's origins.
std::string metadata_of(const Node& node);

}  // namespace tenon::network
