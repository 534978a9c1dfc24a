#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tenon::api {

/// The node that a layer is named after: of a region the operator of the highest rank in
/// api/layer_types.def, the node itself elsewhere.
const Node& anchor_of(const Node& node);

/// LayerType and ParameterType of a layer, given its anchor.
struct LayerWords {
  std::string layer_type, parameter_type;
};
LayerWords words_of(const Node& node, const Node& anchor);

/// The operator's name in the IR, in a region "Fused(conv)".
std::string kind_of(const Node& node);

/// "arg_reduce" as "ArgReduce".
std::string camel_case(std::string_view words);

/// "Row major linear FP32" and so on.
const char* format_description(const TensorType& type);

/// "Float", "Half", "Int8".
std::string_view type_word(tenon::DataType type);

}  // namespace tenon::api
