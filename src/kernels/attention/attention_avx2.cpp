#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

AttentionBlock attention_block_avx2() {
  return attention_detail::block<vector_math::F32x8>;
}

}  // namespace tenon::cpu
