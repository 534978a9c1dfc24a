#include "evaluate.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::vector_math {

void evaluate_generic(Function f, const float* x, float* y, int n) {
  evaluate<F32x1>(f, x, y, n);
}
void combine_generic(PointwiseFunction f, const float* x, const float* y, float* to, int n) {
  combine<F32x1>(f, x, y, to, n);
}

}  // namespace tenon::vector_math
