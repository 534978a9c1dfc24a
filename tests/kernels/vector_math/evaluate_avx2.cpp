#include "evaluate.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::vector_math {

void evaluate_avx2(Function f, const float* x, float* y, int n) {
  evaluate<F32x8>(f, x, y, n);
}

}  // namespace tenon::vector_math
