#include "kernels/conv/grouped_body.h"
#include "kernels/vector_math/vector_avx2.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

using V = vector_math::F32x16;
// Half vectors for groups of eight channels, and for the rest of others.
using Half = vector_math::F32x8;
const GroupedFunctions kGroupedAvx512 = {
    {GroupedTable<V, 14, 2>::kWidth, GroupedTable<V, 14, 1>::kWidth,
     GroupedTable<Half, 14, 1>::kWidth},
    3,
    copy_piece<V>};

}  // namespace tenon::cpu
