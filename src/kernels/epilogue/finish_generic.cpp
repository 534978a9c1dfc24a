#include "kernels/epilogue/finish_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

void finish_generic(const FinishTile& tile, std::span<const EpilogueStep> steps,
                    const EpilogueOperand* operands) {
  finish<vector_math::F32x1>(tile, steps, operands);
}

}  // namespace tenon::cpu
