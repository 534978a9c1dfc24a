#include "kernels/epilogue/finish_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

void TENON_OF_ISA(finish)(const FinishTile& tile, std::span<const EpilogueStep> steps,
                          const EpilogueOperand* operands) {
  finish<vector_math::IsaVector>(tile, steps, operands);
}

}  // namespace tenon::cpu
