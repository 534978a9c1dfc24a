#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/resize/resize_body.h"

namespace tenon::cpu {

const ResizeFunctions& TENON_OF_ISA(resize_functions)() {
  static constexpr ResizeFunctions kFunctions{combine<vector_math::IsaVector>,
                                              spread<vector_math::IsaVector>,
                                              vector_math::IsaVector::kWidth};
  return kFunctions;
}

}  // namespace tenon::cpu
