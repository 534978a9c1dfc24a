#pragma once

#include "ir/graph.h"

namespace tenon {

/// Whether the rows (last axis) of a value are of like size, as far as the graph tells: they were
/// normalized, or come from such rows by products, attention and functions that do not multiply
/// two of them. False for anything else: inputs, padded images, sums with a residual.
///
/// Strassen's scheme needs it. Its rounding errors are small against the largest rows of a matrix;
/// in rows that are small, or zero for padding, they would be large, and a norm behind the product
/// would make them visible.
bool rows_are_uniform(const Value& value);
/// Which input of a node its product has on the left: that of the node itself, or of the product
/// that its region is anchored on. -1 where there is none, or it is made inside of the region.
int left_operand(const Node& node);

}  // namespace tenon
