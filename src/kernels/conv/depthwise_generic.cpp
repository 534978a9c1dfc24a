#include "kernels/conv/depthwise_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

void depthwise_generic(const DepthwiseLine& line) {
  depthwise<vector_math::F32x1>(line);
}

}  // namespace tenon::cpu
