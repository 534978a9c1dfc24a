#include "kernels/vector_math/vector_generic.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

const AttentionFunctions kAttentionGeneric = {
    block_functions_generic, attention_detail::SoftmaxRows<vector_math::F32x1>::all,
    attention_detail::store_rows<vector_math::F32x1>};

}  // namespace tenon::cpu
