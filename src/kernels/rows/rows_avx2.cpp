#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/rows/rows_body.h"

namespace tenon::cpu {

const RowFunctions& row_functions_avx2() {
  return rows_detail::functions<vector_math::F32x8>();
}

}  // namespace tenon::cpu
