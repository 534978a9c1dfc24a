#include "kernels/conv/gather_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

void TENON_OF_ISA(gather)(const Gather& gather, const void* input, int64_t row, int64_t rows,
                          int64_t k, int64_t count, void* to, int64_t to_stride) {
  gather_rows<vector_math::IsaVector>(gather, input, row, rows, k, count, to, to_stride);
}

}  // namespace tenon::cpu
