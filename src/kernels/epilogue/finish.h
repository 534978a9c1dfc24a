#pragma once

#include "kernels/epilogue/epilogue.h"

namespace tenon::cpu {

/// One FinishFunction an instruction set.
void finish_generic(const FinishTile&, std::span<const EpilogueStep>, const EpilogueOperand*);
void finish_avx2(const FinishTile&, std::span<const EpilogueStep>, const EpilogueOperand*);
void finish_avx512(const FinishTile&, std::span<const EpilogueStep>, const EpilogueOperand*);

/// The formula of ops/pointwise.def in float, for functions that have no vector form. Comparisons
/// give 0 or 1; functions of integers and of three operands give x.
float apply_scalar(PointwiseFunction f, float x, float y, float alpha, float beta);

}  // namespace tenon::cpu
