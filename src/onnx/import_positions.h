#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "onnx/emitter.h"
#include "ops/generate.h"

namespace tenon::importer {

/// Extent of an axis as a scalar.
inline Value* extent_value(Emitter& e, Value* x, int64_t axis) {
  return e.squeeze(e.slice(e.shape_of(x), 0, axis, axis + 1), {0});
}

/// 0, 1, ... below `limit`, a scalar.
inline Value* counting(Emitter& e, Value* limit) {
  return e.add(RangeOf{}, {e.integer(0), limit, e.integer(1)});
}

/// The axes from `first` up to the one before `end`.
inline std::vector<int64_t> axes_between(int64_t first, int64_t end) {
  std::vector<int64_t> axes(static_cast<size_t>(std::max<int64_t>(end - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace tenon::importer
