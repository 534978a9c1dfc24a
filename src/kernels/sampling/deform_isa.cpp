#include "kernels/sampling/deform.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {
namespace {

using V = vector_math::IsaVector;

/// Lanes of `channels` from `c` on.
inline V mean(const DeformPoint& point, int64_t c, int lanes) {
  V sum = V::zero();
  for (int i = 0; i < 4; ++i) {
    const float* from = point.pixels[i] + c;
    sum = fma(V::broadcast(point.parts[i]),
              lanes == V::kWidth ? V::load(from) : V::load(from, lanes), sum);
  }
  return sum;
}

}  // namespace

void TENON_OF_ISA(deform_point)(const DeformPoint& point, int64_t channels, float* to) {
  int64_t c = 0;
  for (; c + V::kWidth <= channels; c += V::kWidth) mean(point, c, V::kWidth).store(to + c);
  const int left = static_cast<int>(channels - c);
  if (left > 0) mean(point, c, left).store(to + c, left);
}

}  // namespace tenon::cpu
