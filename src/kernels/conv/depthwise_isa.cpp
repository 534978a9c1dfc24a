#include "kernels/conv/depthwise_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

void TENON_OF_ISA(depthwise)(const DepthwiseLine& line) {
  depthwise<vector_math::IsaVector>(line);
}

}  // namespace tenon::cpu
