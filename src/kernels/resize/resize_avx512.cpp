#include "kernels/vector_math/vector_avx512.h"
// The functions over the vector type come after it.
#include "kernels/resize/resize_body.h"

namespace tenon::cpu {

const ResizeFunctions& resize_functions_avx512() {
  static constexpr ResizeFunctions kFunctions{combine<vector_math::F32x16>};
  return kFunctions;
}

}  // namespace tenon::cpu
