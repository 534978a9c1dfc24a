#include "evaluate.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::vector_math {

void evaluate_avx2(Function f, const float* x, float* y, int n) {
  evaluate<F32x8>(f, x, y, n);
}
void combine_avx2(PointwiseFunction f, const float* x, const float* y, float* to, int n) {
  combine<F32x8>(f, x, y, to, n);
}

}  // namespace tenon::vector_math
