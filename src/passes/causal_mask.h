#pragma once

#include <optional>

#include "ir/graph.h"

namespace tenon {

/// A matrix with two values: `below` where column <= row + offset, else `above`; leading axes do
/// not matter.
struct Triangle {
  double below = 0, above = 0;
  Dim offset;
};

/// The value, where it follows from constants, Trilu, and comparisons of ranges (cut, cast,
/// expanded and combined with numbers); the extents may be symbols.
std::optional<Triangle> triangle_of(const Value* value);

}  // namespace tenon
