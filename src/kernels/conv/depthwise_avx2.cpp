#include "kernels/conv/depthwise_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

void depthwise_avx2(const DepthwiseLine& line) {
  depthwise<vector_math::F32x8>(line);
}

}  // namespace tenon::cpu
