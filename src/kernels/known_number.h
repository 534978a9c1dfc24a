#pragma once

#include "kernels/tactic.h"

namespace tenon {

/// The one element of an operand that is known while building; `absent` where there is none, or
/// `index` is below 0.
Result<int64_t> known_number(const Problem& problem, int index, int64_t absent);

/// An axis given by an attribute, which may count from the end.
inline int axis_of(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon
