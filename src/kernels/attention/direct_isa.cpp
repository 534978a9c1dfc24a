#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/attention/direct_body.h"

namespace tenon::cpu {

const DirectFunctions TENON_CONSTANT_OF_ISA(kDirect) = {
    attention_detail::Direct<vector_math::IsaVector>::widen,
    attention_detail::Direct<vector_math::IsaVector>::score,
    attention_detail::Direct<vector_math::IsaVector>::add};

}  // namespace tenon::cpu
