#include "kernels/vector_math/bytes_generic.h"
// The functions over the vector type come after it.
#include "kernels/pointwise/block_body.h"

namespace tenon::cpu {

const BlockFunctions& block_functions_generic() {
  return block_detail::functions<vector_math::BytesOfF32x1>();
}

}  // namespace tenon::cpu
