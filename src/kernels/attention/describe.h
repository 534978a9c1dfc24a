#pragma once

#include "kernels/attention/attention.h"
#include "kernels/tactic.h"

namespace tenon::cpu {

/// Inputs of an attention operator.
enum AttentionInput { kQ, kK, kV, kMask };

/// A problem in the kernels' terms; fails, with the reason, unless it is attention without a past,
/// of f32 or bf16.
Result<AttentionProblem> describe_attention(const Problem& problem);

}  // namespace tenon::cpu
