#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/rnn/cell_body.h"

namespace tenon::cpu {

const CellFunctions& TENON_OF_ISA(cell_functions)() {
  constexpr int kUnits = vector_math::kIsa == 2 ? 6 : 1;
  static constexpr CellFunctions kFunctions{kUnits,
                                            CellTable<vector_math::IsaVector, kUnits>::step};
  return kFunctions;
}

}  // namespace tenon::cpu
