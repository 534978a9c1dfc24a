#include "kernels/conv/depthwise_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

void depthwise_avx512(const DepthwiseLine& line) {
  depthwise<vector_math::F32x16>(line);
}

}  // namespace tenon::cpu
