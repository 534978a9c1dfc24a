#pragma once

#include "kernels/generic/formula.h"
#include "ops/ops.h"

/// One function a row of formulas.def: the constants of an operator for its file.
namespace tenon::formulas {

#define TENON_FORMULA(Struct, space, file) \
  Status space(const Problem& problem, const Struct& op, Formula& formula);
#include "kernels/generic/formulas.def"

}  // namespace tenon::formulas
