#include "kernels/vector_math/vector_avx512.h"
// The functions over the vector type come after it.
#include "kernels/rows/rows_body.h"

namespace tenon::cpu {

const RowFunctions& row_functions_avx512() {
  return rows_detail::functions<vector_math::F32x16>();
}

}  // namespace tenon::cpu
