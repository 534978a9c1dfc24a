#pragma once

#include <vector>

#include "base/status.h"
#include "ir/operation.h"

namespace tenon {

/// An element of the input and its share in an element of the result.
struct ResizeTap {
  int64_t index;
  double weight;
};

/// An axis that a resize changes: the taps of each element of the result.
struct ResizedAxis {
  int axis;
  std::vector<std::vector<ResizeTap>> taps;
};

/// Resizing as one interpolation after the other, for a Resize node whose extents are known. `roi`,
/// `scales` and `sizes` are the contents of these operands, null when absent. Only an aspect policy
/// needs the sizes that were asked for; without one they are those of y. Fails where elements lie
/// outside of the input altogether.
Result<std::vector<ResizedAxis>> resized_axes(const Operation& operation, const Extents& x,
                                              const Extents& y, const Tensor* roi,
                                              const Tensor* scales, const Tensor* sizes);

}  // namespace tenon
