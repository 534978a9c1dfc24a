#pragma once

#include <cstdint>

/// For the bodies that are included by one source an instruction set.
namespace tenon::cpu {
namespace {

/// Calls visit(i, j, d, h) for each row of taps (i, j) under one line of output whose row (d, h) of
/// the input lies inside the image.
template <class Line, class Visit>
[[gnu::always_inline]] inline void for_rows_inside(const Line& t, Visit visit) {
  for (int64_t i = 0; i < t.kernel[0]; ++i) {
    const int64_t d = t.depth * t.stride[0] - t.pad[0] + i * t.dilation[0];
    if (static_cast<uint64_t>(d) >= uint64_t(t.extents[0])) continue;
    for (int64_t j = 0; j < t.kernel[1]; ++j) {
      const int64_t h = t.height * t.stride[1] - t.pad[1] + j * t.dilation[1];
      if (static_cast<uint64_t>(h) < uint64_t(t.extents[1])) visit(i, j, d, h);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
