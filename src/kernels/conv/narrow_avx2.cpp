#include "kernels/conv/narrow_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

void narrow_avx2(const NarrowLine& line) {
  narrow<vector_math::F32x8>(line);
}

}  // namespace tenon::cpu
