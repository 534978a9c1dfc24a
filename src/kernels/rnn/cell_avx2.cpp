#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/rnn/cell_body.h"

namespace tenon::cpu {

const CellFunctions& cell_functions_avx2() {
  static constexpr CellFunctions kFunctions{1, CellTable<vector_math::F32x8, 1>::step};
  return kFunctions;
}

}  // namespace tenon::cpu
