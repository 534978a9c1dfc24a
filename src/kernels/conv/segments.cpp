#include "kernels/conv/segments.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace tenon::cpu {

std::vector<Segment> segments_of(const ConvProblem& p, int axis) {
  const int64_t taps = p.kernel[axis], dilation = p.dilation[axis];
  std::vector<Segment> segments;
  for (int64_t o = 0; o < p.output[axis]; ++o) {
    const int64_t at = o * p.stride[axis] - p.pad[axis], room = p.input[axis] - at;
    const int64_t low = std::min(taps, at >= 0 ? 0 : ceil_div(-at, dilation));
    const int64_t high = std::min(taps, room <= 0 ? 0 : ceil_div(room, dilation));
    const Segment one{o, o + 1, low, std::max(low, high)};
    if (!segments.empty() && segments.back().low == one.low && segments.back().high == one.high)
      segments.back().last = one.last;
    else
      segments.push_back(one);
  }
  return segments;
}

}  // namespace tenon::cpu
