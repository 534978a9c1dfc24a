#pragma once

#include "kernels/epilogue/epilogue.h"

namespace tenon::cpu {

/// The formula of ops/pointwise.def in float, for functions that have no vector form. Comparisons
/// give 0 or 1; functions of integers and of three operands give x.
float apply_scalar(PointwiseFunction f, float x, float y, float alpha, float beta);

}  // namespace tenon::cpu
