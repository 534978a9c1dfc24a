#include <utility>

#include "kernels/conv/stem_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

constexpr int kRows[] = {4, 6, 14}, kColumns[] = {4, 2, 2};
const StemFunctions TENON_CONSTANT_OF_ISA(kStem) = StemTable<
    vector_math::IsaVector, kRows[vector_math::kIsa], kColumns[vector_math::kIsa]>::kFunctions;

}  // namespace tenon::cpu
