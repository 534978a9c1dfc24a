#include "kernels/vector_math/vector_avx512.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

const AttentionFunctions kAttentionAvx512 = {
    block_functions_avx512, attention_detail::SoftmaxRows<vector_math::F32x16>::all,
    attention_detail::store_rows<vector_math::F32x16>};

}  // namespace tenon::cpu
