#pragma once

#include <functional>
#include <vector>

#include "ops/nn.h"
#include "ops/shapes.h"

namespace tenon {

/// Attributes of a window operator, one number a spatial axis; empty stands for 1, 1, 0.
struct WindowAttributes {
  const std::vector<int64_t>&strides, &dilations, &pads_begin, &pads_end;
  PadMode mode = PadMode::kExplicit;
  bool ceil = false;
};

/// A window over concrete spatial extents.
struct SlidingWindow {
  Extents input, kernel, output;
  std::vector<int64_t> strides, dilations, begin, end;
};

/// `given`, or `count` times `value` when it is empty.
std::vector<int64_t> or_all(const std::vector<int64_t>& given, size_t count, int64_t value);

/// The number of an attribute along a spatial axis; `otherwise` where none is given.
int64_t axis_or(const std::vector<int64_t>& given, size_t axis, int64_t otherwise);
/// How much of an axis's padding lies ahead of it, where the mode derives it; none of less than 0.
int64_t pad_ahead(PadMode mode, int64_t total);

/// Output extents of the window over `spatial` extents.
Result<Shape> window_output(const WindowAttributes& attributes, const Shape& spatial,
                            const std::vector<int64_t>& kernel, const Fail& fail);
Result<SlidingWindow> resolve_window(const WindowAttributes& attributes, const Extents& spatial,
                                     const std::vector<int64_t>& kernel, const Fail& fail);

/// Offset in the input for each kernel element (outer) and each of the output positions
/// [begin, end) (inner), -1 in the padding.
std::vector<int64_t> window_offsets(const SlidingWindow& window, int64_t begin, int64_t end);

}  // namespace tenon
