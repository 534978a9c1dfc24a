#include "kernels/conv/narrow_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

void narrow_avx512(const NarrowLine& line) {
  narrow<vector_math::F32x16>(line);
}

}  // namespace tenon::cpu
