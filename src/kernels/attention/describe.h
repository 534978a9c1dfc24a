#pragma once

#include "kernels/attention/attention.h"
#include "kernels/tactic.h"

namespace tenon::cpu {

/// Inputs of an attention operator.
enum AttentionInput { kQ, kK, kV, kMask };

/// Whether the problem is attention that the kernels of this folder compute: without a past, of f32
/// or bf16.
Support supports_attention(const Problem& problem);
/// Such a problem in the kernels' terms.
AttentionProblem describe_attention(const Problem& problem);

}  // namespace tenon::cpu
