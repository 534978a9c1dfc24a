#include "kernels/vector_math/vector_avx512.h"
// The functions over the vector type come after it.
#include "kernels/rnn/cell_body.h"

namespace tenon::cpu {

const CellFunctions& cell_functions_avx512() {
  static constexpr CellFunctions kFunctions{6, CellTable<vector_math::F32x16, 6>::step};
  return kFunctions;
}

}  // namespace tenon::cpu
