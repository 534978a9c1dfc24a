#pragma once

#include <nlohmann/json.hpp>

#include "ir/graph.h"

namespace tenon::api {

/// Appends a layer's parameters, under TensorRT's names and in its order. `anchor` is
/// anchor_of(node).
void add_parameters(nlohmann::ordered_json& json, const Node& node, const Node& anchor);

}  // namespace tenon::api
