#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "api/layer_metadata.h"
#include "plan/concrete_graph.h"

namespace tenon::api {

/// Circumstances under which a layer is described.
struct LayerView {
  const ConcreteGraph* shapes = nullptr;  ///< Extents of a context; null: fixed ones only.
  std::string suffix;                     ///< Of names: " [profile 1]", or nothing.
  int stream = 0;
  const TacticTable* tactics = nullptr;     ///< In place of the nodes' own; null: none.
  const LayerMetadata* metadata = nullptr;  ///< Of the plan.
};

/// A layer in the schema that TensorRT 10's inspector has.
nlohmann::ordered_json describe_layer(const Node& node, const LayerView& view);

/// The same in the form of one line: "Name: conv, LayerType: CaskConvolution, Inputs: [ { ... }]".
std::string one_line(const nlohmann::ordered_json& layer);

/// JSON text. Names may hold any bytes: bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace tenon::api
