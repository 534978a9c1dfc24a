#include <utility>

#include "kernels/conv/stem_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

const StemFunctions kStemAvx512 = StemTable<vector_math::F32x16, 14, 2>::kFunctions;

}  // namespace tenon::cpu
