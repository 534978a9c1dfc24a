#include "kernels/vector_math/isa_bytes.h"
// The functions over the vector type come after it.
#include "kernels/quantized/weight_product_body.h"

namespace tenon::cpu {

const WeightFunctions& TENON_OF_ISA(weight_functions)() {
  static constexpr WeightFunctions kFunctions{weight_tile<vector_math::IsaBytes>,
                                              weight_unpack<vector_math::IsaBytes>};
  return kFunctions;
}

}  // namespace tenon::cpu
