#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tactic.h"

namespace tenon {

/// Strides of an operand, dense or not.
std::vector<int64_t> strides_of(const Operand& operand);
/// Whether the elements of an operand lie in logical order, without gaps.
bool is_plain(const Operand& operand);
/// Elements from the first to the last of an operand that has some, gaps included.
int64_t extent_in_memory(const Operand& operand);

}  // namespace tenon
