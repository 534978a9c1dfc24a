#include "kernels/vector_math/isa_bytes.h"
// The functions over the vector type come after it.
#include "kernels/quantized/weight_product_body.h"

namespace tenon::cpu {

void TENON_OF_ISA(weight_tile)(const WeightForm& form, const WeightTile& tile) {
  weight_tile<vector_math::IsaBytes>(form, tile, std::make_integer_sequence<int, kWeightRows>());
}

}  // namespace tenon::cpu
