#include "kernels/epilogue/finish_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

void finish_avx2(const FinishTile& tile, std::span<const EpilogueStep> steps,
                 const EpilogueOperand* operands) {
  finish<vector_math::F32x8>(tile, steps, operands);
}

}  // namespace tenon::cpu
