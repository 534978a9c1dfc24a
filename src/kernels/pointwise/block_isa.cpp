#include "kernels/vector_math/isa_bytes.h"
// The functions over the vector type come after it.
#include "kernels/pointwise/block_body.h"

namespace tenon::cpu {

const BlockFunctions& TENON_OF_ISA(block_functions)() {
  return block_detail::functions<vector_math::IsaBytes>();
}

}  // namespace tenon::cpu
