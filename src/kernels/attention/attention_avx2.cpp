#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

const AttentionFunctions kAttentionAvx2 = {block_functions_avx2,
                                           attention_detail::SoftmaxRows<vector_math::F32x8>::all,
                                           attention_detail::store_rows<vector_math::F32x8>};

}  // namespace tenon::cpu
