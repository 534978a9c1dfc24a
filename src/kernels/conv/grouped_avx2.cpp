#include "kernels/conv/grouped_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

using V = vector_math::F32x8;
// A single vector has as many rows as registers: fewer sums would wait for each other.
const GroupedFunctions kGroupedAvx2 = {
    {GroupedTable<V, 6, 2>::kWidth, GroupedTable<V, 12, 1>::kWidth}, 2, copy_piece<V>};

}  // namespace tenon::cpu
