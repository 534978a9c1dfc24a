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

/// For a bool mask (true keeps) or a term of scores (0 keeps, -9999 or less drops) that keeps the
/// keys j <= i + offset of query i: the offset.
std::optional<Dim> causal_offset(const Value* mask);

}  // namespace tenon
