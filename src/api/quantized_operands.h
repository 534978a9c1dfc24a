#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon::api {

/// Whether the node's time goes into products, which types of few bits make faster.
bool has_products(const Node& node);

/// The Dequantize that gives the value, over operators that only move its elements; null: none.
const Node* dequantize_of(const Value* value);

/// The type ahead of that Dequantize; without one the value's own.
tenon::DataType quantized_type(const Value* value);

/// "'a', 'b' and 3 more".
std::string listed(const std::vector<std::string>& names);

}  // namespace tenon::api
