#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/resize/resize_body.h"

namespace tenon::cpu {

const ResizeFunctions& resize_functions_avx2() {
  static constexpr ResizeFunctions kFunctions{combine<vector_math::F32x8>};
  return kFunctions;
}

}  // namespace tenon::cpu
