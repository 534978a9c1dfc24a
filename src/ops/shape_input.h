#pragma once

#include "ir/graph.h"

namespace tenon {

/// Whether tensors of this type may decide shapes where they are inputs of a network: 1 to
/// kMaxKnownElements integers of 32 or 64 bits, of a number that is known.
bool can_decide_shapes(const TensorType& type);

}  // namespace tenon
