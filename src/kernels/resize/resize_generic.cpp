#include "kernels/vector_math/vector_generic.h"
// The functions over the vector type come after it.
#include "kernels/resize/resize_body.h"

namespace tenon::cpu {

const ResizeFunctions& resize_functions_generic() {
  static constexpr ResizeFunctions kFunctions{combine<vector_math::F32x1>};
  return kFunctions;
}

}  // namespace tenon::cpu
