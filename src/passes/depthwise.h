#pragma once

#include <vector>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {

/// Parts of regions of a convolution and the depthwise one behind it.

/// The constant weights of an image convolution in f32 whose bias is constant too, or null.
const Tensor* image_weights(const Node& node);
/// Such a convolution with a group for each channel.
bool is_depthwise(const Node& node);
/// Adds the functions of one operand that follow `value`, which becomes the last one's output.
void take_functions(const Graph& graph, const PassContext& context, const Value*& value,
                    std::vector<Node*>& members);
/// A sum behind the region would be a step of its own, but part of a depthwise convolution alone.
bool ends_in_operands(const Graph& graph, const Value* value);
/// Adds the depthwise convolution that alone reads `value` and its functions; false where there is
/// none, or where it is better off alone.
bool take_depthwise(const Graph& graph, const PassContext& context, const Value* value,
                    std::vector<Node*>& members);

}  // namespace tenon
