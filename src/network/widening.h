#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/op_kind.h"

namespace tenon::network {

/// In weakly typed networks: the operands of 16 bits that such an operator takes as f32, since
/// others of its operands are.
std::vector<int> narrow_beside_wide(OpKind kind, std::span<Value* const> inputs);

}  // namespace tenon::network
