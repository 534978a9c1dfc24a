#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Constants that hold a number for each channel of an image or a product.

/// The numbers of a constant whose only extent other than 1 is that of axis `axis` of a tensor of
/// rank `rank`; nothing for other values.
std::optional<std::vector<double>> per_channel(const Value* value, int64_t rank, int64_t axis,
                                               int64_t channels);
Value* constant_like(Graph& graph, DataType type, const Extents& extents,
                     const std::vector<double>& numbers);

/// No bias, or one that is known.
bool has_constant_bias(const Node& anchor);
/// Bias of a convolution as numbers; zeros where it has none.
std::vector<double> bias_of(const Node& conv, int64_t count);
/// Gives a convolution a bias of its weights' type.
void set_bias(Graph& graph, Node& conv, const std::vector<double>& bias);

}  // namespace tenon
