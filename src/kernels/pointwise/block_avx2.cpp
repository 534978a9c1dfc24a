#include "kernels/vector_math/bytes_avx2.h"
// The functions over the vector type come after it.
#include "kernels/pointwise/block_body.h"

namespace tenon::cpu {

const BlockFunctions& block_functions_avx2() {
  return block_detail::functions<vector_math::BytesOfF32x8>();
}

}  // namespace tenon::cpu
