#include "kernels/vector_math/vector_avx2.h"
// The functions over the vector type come after it.
#include "kernels/attention/columns_body.h"

namespace tenon::cpu {

ColumnFunction attention_columns_avx2() {
  return [](const ColumnTask& task) { Columns<vector_math::F32x8>{task}.run(); };
}

}  // namespace tenon::cpu
