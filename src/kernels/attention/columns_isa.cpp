#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/attention/columns_body.h"

namespace tenon::cpu {

ColumnFunction TENON_OF_ISA(column_function)() {
  return [](const ColumnTask& task) { Columns<vector_math::IsaVector>{task}.run(); };
}

}  // namespace tenon::cpu
