#pragma once

#include "ops/shapes.h"

namespace tenon {

/// The extents of output 0 as input 0 gives them, for operators that fill tensors: an error where
/// its length is not known, or an extent is negative.
Result<Shape> given_shape(InferContext& context);
Result<Extents> given_extents(const EvalContext& context);

}  // namespace tenon
