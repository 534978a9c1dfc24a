#pragma once

#include "kernels/conv/problem.h"
#include "kernels/epilogue/epilogue.h"

namespace tenon::cpu {

/// A bias, then functions of one operand alone.
bool has_plain_steps(const ConvProblem& problem);

/// The functions from step `rest` on over a line of the convolution's results, while it is in the
/// cache.
void finish_line(FinishFunction finish, const ConvProblem& problem, int rest, float* line,
                 int64_t pixels, int64_t stride, int64_t channels);

}  // namespace tenon::cpu
