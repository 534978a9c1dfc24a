#pragma once

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

}  // namespace tenon::importer
