#include "kernels/vector_math/bytes_avx512.h"
// The functions over the vector type come after it.
#include "kernels/quantized/weight_product_body.h"

namespace tenon::cpu {

/// Those of AVX-512, which round to bf16 by an instruction.
const WeightFunctions& weight_functions_avx512bf16() {
  static constexpr WeightFunctions kFunctions{weight_tile<vector_math::BytesOfF32x16>,
                                              weight_unpack<vector_math::BytesOfF32x16>};
  return kFunctions;
}

}  // namespace tenon::cpu
