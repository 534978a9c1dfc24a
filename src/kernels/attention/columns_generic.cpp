#include "kernels/vector_math/vector_generic.h"
// The functions over the vector type come after it.
#include "kernels/attention/columns_body.h"

namespace tenon::cpu {

ColumnFunction attention_columns_generic() {
  return [](const ColumnTask& task) { Columns<vector_math::F32x1>{task}.run(); };
}

}  // namespace tenon::cpu
