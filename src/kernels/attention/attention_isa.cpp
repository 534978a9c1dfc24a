#include "kernels/vector_math/isa_bytes.h"
#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/attention/attention_body.h"

namespace tenon::cpu {

const AttentionFunctions TENON_CONSTANT_OF_ISA(kAttention) = {
    TENON_OF_ISA(block_functions), attention_detail::SoftmaxRows<vector_math::IsaBytes>::all,
    attention_detail::store_rows<vector_math::IsaVector>};

}  // namespace tenon::cpu
