#pragma once

#include "ops/context.h"

namespace tenon {

/// A tensor seen along one axis: `outer` blocks of `extent` slices of `inner` elements.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};

inline AxisView view_along(const Extents& extents, int64_t axis) {
  AxisView view;
  for (int64_t i = 0; i < static_cast<int64_t>(extents.size()); ++i)
    (i < axis ? view.outer : (i == axis ? view.extent : view.inner)) *= extents[i];
  return view;
}

}  // namespace tenon
