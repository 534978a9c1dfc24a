#include "kernels/vector_math/vector_generic.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

AttentionBlock attention_block_generic() {
  return attention_detail::block<vector_math::F32x1>;
}

}  // namespace tenon::cpu
