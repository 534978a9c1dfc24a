#pragma once

#include <map>
#include <string>

#include "network/network.h"
#include "plan/plan.h"

namespace tenon::api {

/// Metadata of layers (ILayer::setMetadata) by their names; metadata that only names the node of a
/// model is not among it.
using LayerMetadata = std::map<std::string, std::string>;

/// Puts the network's into the plan.
void note_metadata(const network::Network& network, Plan& plan);
LayerMetadata metadata_of(const Plan& plan);

/// Metadata of the layers that the node was made of.
std::string metadata_of(const Node& node, const LayerMetadata& layers);

}  // namespace tenon::api
