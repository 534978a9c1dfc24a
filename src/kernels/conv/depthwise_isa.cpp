#include "kernels/conv/depthwise_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

void TENON_OF_ISA(depthwise)(const DepthwiseLine& line) {
  depthwise<vector_math::IsaVector>(line);
#if TENON_ISA_INDEX > 0
  // GCC leaves this out here: code for vectors of 128 bits behind it would wait for the upper
  // parts.
  __builtin_ia32_vzeroupper();
#endif
}

}  // namespace tenon::cpu
