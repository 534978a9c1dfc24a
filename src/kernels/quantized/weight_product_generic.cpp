#include "kernels/vector_math/bytes_generic.h"
// The functions over the vector type come after it.
#include "kernels/quantized/weight_product_body.h"

namespace tenon::cpu {

void weight_tile_generic(const WeightForm& form, const WeightTile& tile) {
  weight_tile<vector_math::BytesOfF32x1>(form, tile,
                                         std::make_integer_sequence<int, kWeightRows>());
}

}  // namespace tenon::cpu
