#include "kernels/vector_math/vector_generic.h"
// The functions over the vector type come after it.
#include "kernels/rows/rows_body.h"

namespace tenon::cpu {

const RowFunctions& row_functions_generic() {
  return rows_detail::functions<vector_math::F32x1>();
}

}  // namespace tenon::cpu
