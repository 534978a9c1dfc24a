#pragma once

#include <vector>

#include "base/status.h"
#include "ir/operation.h"
#include "ops/movement.h"

namespace tenon {

/// For each axis of a padded tensor the place in x of each of its elements, or -1 for the constant.
/// `pads` are begins, then ends, of `axes`. The operation is named in errors.
Result<std::vector<std::vector<int64_t>>> pad_places(const Operation& operation, const Extents& x,
                                                     const std::vector<int64_t>& pads,
                                                     const std::vector<int64_t>& axes,
                                                     PadFill fill);

}  // namespace tenon
