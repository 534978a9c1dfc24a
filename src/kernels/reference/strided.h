#pragma once

#include "kernels/tactic.h"

namespace tenon::reference {

/// Bytes from the first to the last element that the operand touches.
size_t spanned_bytes(const Operand& operand);
/// The operand's elements at `bytes` as a dense row-major tensor; where they are that already, it
/// looks at `bytes`, which must outlive it.
Tensor gather(const Operand& operand, const void* bytes);
/// Puts a tensor's elements where the operand has them.
void scatter(const Tensor& tensor, const Operand& operand, void* bytes);

}  // namespace tenon::reference
