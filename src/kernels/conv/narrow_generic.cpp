#include "kernels/conv/narrow_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

void narrow_generic(const NarrowLine& line) {
  narrow<vector_math::F32x1>(line);
}

}  // namespace tenon::cpu
