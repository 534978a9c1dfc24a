#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/rows/rows_body.h"

namespace tenon::cpu {

const RowFunctions& TENON_OF_ISA(row_functions)() {
  return rows_detail::functions<vector_math::IsaVector>();
}

}  // namespace tenon::cpu
