#include "kernels/conv/grouped_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

using V = vector_math::F32x1;
const GroupedFunctions kGroupedGeneric = {{GroupedTable<V, 4, 4>::kWidth}, 1, copy_piece<V>};

}  // namespace tenon::cpu
