#include "kernels/conv/gather_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

void gather_generic(const Gather& gather, const void* input, int64_t row, int64_t rows, int64_t k,
                    int64_t count, void* to, int64_t to_stride) {
  gather_rows<vector_math::F32x1>(gather, input, row, rows, k, count, to, to_stride);
}

}  // namespace tenon::cpu
