#pragma once

#include "ir/data_type.h"
#include "ops/pointwise_function.h"

namespace tenon {

/// One operand of a row: its elements, and 1, or 0 where one element serves the whole row.
struct RowOperand {
  const void* data = nullptr;
  int64_t stride = 1;
};

/// Computes `count` elements. Operands are of the compute type, the result too, or bool (a byte).
using RowKernel = void (*)(const RowOperand* operands, void* out, int64_t count, double alpha,
                           double beta);

/// The row function over float or double.
RowKernel real_kernel(PointwiseFunction function, DataType compute);
/// The row function over one of the native integer types; bool computes as u8. Integer arithmetic
/// wraps; division by zero gives 0; shifts by the width or more give 0 (or the sign). Null where
/// the function takes no integers.
RowKernel integer_kernel(PointwiseFunction function, DataType compute);

}  // namespace tenon
