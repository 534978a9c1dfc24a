#include "kernels/vector_math/vector_avx512.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

AttentionBlock attention_block_avx512() {
  return attention_detail::block<vector_math::F32x16>;
}

}  // namespace tenon::cpu
