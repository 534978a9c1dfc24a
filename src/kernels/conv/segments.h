#pragma once

#include <vector>

#include "kernels/conv/problem.h"

namespace tenon::cpu {

/// Positions [first, last) of the output along one axis at which just taps [low, high) meet the
/// image; the others meet padding.
struct Segment {
  int64_t first, last;
  int64_t low, high;

  int64_t extent() const { return last - first; }
  int64_t taps() const { return high - low; }
};

/// The segments of axis `axis`, in order. Not for transposed convolutions.
std::vector<Segment> segments_of(const ConvProblem& problem, int axis);

}  // namespace tenon::cpu
