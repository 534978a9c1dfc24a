#include <algorithm>

#include "kernels/quantized/byte_planes.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace {

/// Compilers write this with the set's permutations.
template <int kPixel>
void join_planes(const BytePlanes& planes, int64_t count, uint8_t* __restrict to) {
  const uint8_t* __restrict from[kPixel];
  for (int64_t c = 0; c < kPixel; ++c)
    from[c] = planes.first + std::min(c, planes.count - 1) * planes.stride;
  for (int64_t i = 0; i < count; ++i)
    for (int c = 0; c < kPixel; ++c) to[i * kPixel + c] = from[c][i];
}

}  // namespace

void TENON_OF_ISA(byte_planes)(const BytePlanes& planes, int64_t pixel, int64_t count,
                               uint8_t* to) {
  switch (pixel) {
    case 1: return join_planes<1>(planes, count, to);
    case 2: return join_planes<2>(planes, count, to);
    case 3: return join_planes<3>(planes, count, to);
    default: return join_planes<4>(planes, count, to);
  }
}

}  // namespace tenon::cpu
