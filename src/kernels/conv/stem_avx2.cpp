#include <utility>

#include "kernels/conv/stem_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

const StemFunctions kStemAvx2 = StemTable<vector_math::F32x8, 6, 2>::kFunctions;

}  // namespace tenon::cpu
