#include <utility>

#include "kernels/conv/stem_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

const StemFunctions kStemGeneric = StemTable<vector_math::F32x1, 4, 4>::kFunctions;

}  // namespace tenon::cpu
