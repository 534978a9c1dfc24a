#include "kernels/epilogue/finish_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

void finish_avx512(const FinishTile& tile, std::span<const EpilogueStep> steps,
                   const EpilogueOperand* operands) {
  finish<vector_math::F32x16>(tile, steps, operands);
}

}  // namespace tenon::cpu
